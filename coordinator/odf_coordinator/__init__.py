"""The coordinator of an Open Data Fabric: datasets, their chains, the engines deriving them."""
