"""The functions that a query may call, by name. What is not here is refused.

Left out on purpose: whatever reads the clock, the session or the machine; whatever Spark flags as
non-deterministic; aggregates and window functions; reflection; `from_json` and `from_csv` (a time
of day without a date becomes today's); `format_string` (prints the identity of nested values).
"""


def _words(*groups: str) -> frozenset[str]:
    return frozenset(word for group in groups for word in group.split())


_OPERATORS = """
    ! % & * + - / < <= <=> = == > >= ^ | || ~ and or not in between like ilike rlike regexp
    regexp_like when div mod negative positive isnull isnotnull isnan
"""

_CONDITIONS = """
    coalesce equal_null greatest if ifnull least nanvl nullif nullifzero nvl nvl2 zeroifnull
"""

_STRINGS = """
    ascii base64 bit_length btrim char char_length character_length charindex chr concat concat_ws
    contains crc32 decode elt encode endswith find_in_set format_number get_json_object hash hex
    initcap instr json_array_length lcase left len length levenshtein locate lower lpad ltrim
    luhn_check mask md5 octet_length overlay parse_url position regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_replace regexp_substr repeat replace reverse right rpad
    rtrim sha sha1 sha2 soundex space split split_part startswith substr substring substring_index
    to_char to_json to_number to_varchar translate trim try_to_number ucase unbase64 unhex upper
    url_decode url_encode xxhash64
"""

_MATHS = """
    abs acos acosh asin asinh atan atan2 atanh bin bit_count bit_get bround cbrt ceil ceiling conv
    cos cosh cot csc degrees e exp expm1 factorial floor getbit hypot ln log log10 log1p log2 pi
    pmod pow power radians rint round sec shiftleft shiftright shiftrightunsigned sign signum sin
    sinh sqrt tan tanh try_add try_divide try_mod try_multiply try_subtract width_bucket
"""

_TIMES = """
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part
    date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear
    extract from_unixtime from_utc_timestamp hour last_day make_date make_dt_interval
    make_interval make_time make_timestamp make_ym_interval minute month monthname months_between
    next_day quarter second time_diff time_trunc timestamp_micros timestamp_millis
    timestamp_seconds timestampadd timestampdiff to_date to_time to_timestamp to_unix_timestamp
    to_utc_timestamp trunc try_make_timestamp try_to_date try_to_time try_to_timestamp unix_date
    unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear year
"""

_CASTS = """
    bigint binary boolean cast date decimal double float int smallint string timestamp tinyint
"""

_NESTED = """
    aggregate array array_append array_compact array_contains array_distinct array_except
    array_insert array_intersect array_join array_max array_min array_position array_prepend
    array_remove array_repeat array_size array_union arrays_overlap arrays_zip cardinality
    element_at exists filter flatten forall get map map_contains_key map_from_arrays map_keys
    map_values named_struct reduce sequence size slice sort_array str_to_map struct transform
    try_element_at typeof zip_with
"""

GENERATORS = _words("explode explode_outer posexplode posexplode_outer inline inline_outer")
"""One row in, any number of rows out, in the order of the array."""

ALLOWED = GENERATORS | _words(_OPERATORS, _CONDITIONS, _STRINGS, _MATHS, _TIMES, _CASTS, _NESTED)

STRUCTURE = _words(
    """
    Alias And AttributeReference BinaryPad BinaryPredicate CaseWhen Cast Ceil CheckOverflow
    CommonExpressionDef CommonExpressionRef Contains DateAddInterval DateAddYMInterval DatetimeSub
    DivideDTInterval DivideYMInterval EndsWith Explode ExtractANSIIntervalDays
    ExtractANSIIntervalHours ExtractANSIIntervalMinutes ExtractANSIIntervalMonths
    ExtractANSIIntervalSeconds ExtractANSIIntervalYears Floor GeneratorOuter GetArrayItem
    GetArrayStructFields GetMapValue GetStructField GetTimestamp Hour HoursOfTime InSet Inline
    KnownNotContainsNull KnownNotNull KnownNullable LambdaFunction LikeAll LikeAny Literal
    MakeTimestamp MakeTimestampFromDateTime Mask Minute MinutesOfTime MultiplyDTInterval
    MultiplyYMInterval NamedLambdaVariable NotLikeAll NotLikeAny NullIfResult PosExplode
    PromotePrecision RoundCeil RoundFloor Second SecondWithFraction SecondsOfTime
    SecondsOfTimeWithFraction StartsWith StringDecode StringInstr StringInstrWithOccurrence
    StringLPad StringRPad StringSplitSQL SubtractDates SubtractTimes SubtractTimestamps
    TimeAddInterval TimestampAdd TimestampAddInterval TimestampAddYMInterval TimestampDiff
    ToCharacter TryEval TryMakeTimestamp TryMakeTimestampFromDateTime With objects.Invoke
    objects.StaticInvoke
    """
)
"""Expression classes without a function's name: what syntax makes, what functions turn into."""

AGGREGATES = _words(
    """
    any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor
    bool_and bool_or collect_list collect_set corr count count_if covar_pop covar_samp every first
    first_value histogram_numeric kurtosis last last_value listagg max max_by mean median min
    min_by mode percentile percentile_approx percentile_cont percentile_disc regr_count regr_slope
    skewness some std stddev stddev_pop stddev_samp string_agg sum try_avg try_sum var_pop
    var_samp variance
    """
)

CLOCKS = _words(
    """
    current_date current_time current_timestamp curdate localtimestamp now CurrentDate CurrentTime
    CurrentTimestamp LocalTimestamp Now
    """
)
