# Read by the scripts that search the five problems that the operators were made for.
shape() {
	case $1 in
	avg_pool1d) echo 64x128x65536 ;;
	avg_pool2d) echo 16x64x2048x2048 ;;
	max_pool2d) echo 32x64x512x512 ;;
	depthwise_conv2d) echo 16x64x512x512 ;;
	conv2d) echo 16x16x1024x1024 ;;
	esac
}
