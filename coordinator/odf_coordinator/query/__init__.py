"""Ad-hoc SQL over datasets."""
