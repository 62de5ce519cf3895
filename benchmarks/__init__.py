"""Speed beside other Python libraries for the same wire protocol; needs the extra `bench`."""
