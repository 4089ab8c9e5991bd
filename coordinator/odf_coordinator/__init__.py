"""The coordinator of an Open Data Fabric: datasets, their chains, and the engines that derive them."""
