"""Room 7: what an image is asked, and what the answers mean."""
