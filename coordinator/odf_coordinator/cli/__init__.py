"""The `odf` command: speaks to people, reads the environment, decides nothing."""
