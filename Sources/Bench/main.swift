print("troika")
