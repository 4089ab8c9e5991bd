"""`python -m odf_coordinator` is the `odf` command."""

from odf_coordinator.cli.main import main

main()
