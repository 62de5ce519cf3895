"""`kipwire tap`: what clients and brokers say, from captures or while they talk."""
