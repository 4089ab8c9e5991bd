"""Pure decisions: the same arguments give the same answer, and nothing else happens."""
