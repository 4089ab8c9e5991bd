"""The contract that coordinator and engine share: messages, their bytes, and the exchange files."""
