"""The properties of a history policy as checks that anybody's policy can be run against."""
