"""Room 6: images from files, through the Docker Engine."""
