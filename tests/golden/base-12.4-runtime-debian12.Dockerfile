# cubake/cuda:12.4.1-runtime-debian12
ARG ROOTFS=cubake/rootfs:debian12
ARG TOOLS=cubake/tools:1

FROM ${TOOLS} AS tools

FROM ${ROOTFS} AS wheels
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN --mount=type=bind,from=tools,target=/mnt \
    : "packages of the distribution"; \
    if dpkg-query --show python3 > /dev/null 2>&1; then exit 0; fi; \
    export DEBIAN_FRONTEND=noninteractive; \
    echo 'Acquire::Retries "3";' > /etc/apt/apt.conf.d/99cubake; \
    if [ -s /mnt/ca.pem ]; then echo 'Acquire::https::CAInfo "/mnt/ca.pem";' >> /etc/apt/apt.conf.d/99cubake; fi; \
    rm -f /etc/apt/sources.list.d/cuda*; \
    apt-get update; \
    apt-get install -y --no-install-recommends python3; \
    apt-get clean; \
    rm -rf /etc/apt/apt.conf.d/99cubake /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/cache/ldconfig/aux-cache
ARG INDEX_URL=
RUN --mount=type=bind,from=tools,target=/mnt \
    --mount=type=cache,id=cubake-uv,target=/root/.cache \
    : "CUDA 12.4 wheels"; \
    if [ -s /mnt/ca.pem ]; then export SSL_CERT_FILE=/mnt/ca.pem; fi; \
    if [ -n "${INDEX_URL}" ]; then export UV_DEFAULT_INDEX="${INDEX_URL}"; fi; \
    export UV_LINK_MODE=copy UV_CACHE_DIR=/root/.cache/uv UV_HTTP_TIMEOUT=300; \
    /mnt/uv pip install --no-config --no-deps --only-binary :all: --python /usr/bin/python3 --target /wheels \
    nvidia-cublas-cu12==12.4.5.8 nvidia-cuda-nvrtc-cu12==12.4.127 nvidia-cuda-opencl-cu12==12.4.127 nvidia-cuda-runtime-cu12==12.4.127 nvidia-cufft-cu12==11.2.1.3 nvidia-curand-cu12==10.3.5.147 nvidia-cusolver-cu12==11.6.1.9 nvidia-cusparse-cu12==12.3.1.170 nvidia-nccl-cu12==2.21.5 nvidia-npp-cu12==12.2.5.30 nvidia-nvfatbin-cu12==12.4.127 nvidia-nvjitlink-cu12==12.4.127 nvidia-nvjpeg-cu12==12.3.1.117 nvidia-nvtx-cu12==12.4.127
COPY layout.sh /layout.sh
RUN : "layout"; /bin/bash /layout.sh /wheels /tree 12.4 x86_64 runtime

FROM ${ROOTFS}
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
COPY --from=wheels /tree/ /
RUN ldconfig
ENV PATH="/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    LD_LIBRARY_PATH="/usr/local/nvidia/lib:/usr/local/nvidia/lib64" \
    NVIDIA_VISIBLE_DEVICES="all" \
    NVIDIA_DRIVER_CAPABILITIES="compute,utility" \
    NVIDIA_REQUIRE_CUDA="cuda>=12.4 brand=geforce,driver>=470,driver<471 brand=geforcertx,driver>=470,driver<471 brand=nvidia,driver>=470,driver<471 brand=nvidiartx,driver>=470,driver<471 brand=quadro,driver>=470,driver<471 brand=quadrortx,driver>=470,driver<471 brand=tesla,driver>=470,driver<471 brand=titan,driver>=470,driver<471 brand=titanrtx,driver>=470,driver<471 brand=unknown,driver>=470,driver<471 brand=geforce,driver>=525,driver<526 brand=geforcertx,driver>=525,driver<526 brand=nvidia,driver>=525,driver<526 brand=nvidiartx,driver>=525,driver<526 brand=quadro,driver>=525,driver<526 brand=quadrortx,driver>=525,driver<526 brand=tesla,driver>=525,driver<526 brand=titan,driver>=525,driver<526 brand=titanrtx,driver>=525,driver<526 brand=unknown,driver>=525,driver<526 brand=geforce,driver>=535,driver<536 brand=geforcertx,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536 brand=nvidiartx,driver>=535,driver<536 brand=quadro,driver>=535,driver<536 brand=quadrortx,driver>=535,driver<536 brand=tesla,driver>=535,driver<536 brand=titan,driver>=535,driver<536 brand=titanrtx,driver>=535,driver<536 brand=unknown,driver>=535,driver<536" \
    CUDA_VERSION="12.4.1" \
    NV_CUDA_CUDART_VERSION="12.4.127" \
    NV_LIBCUBLAS_VERSION="12.4.5.8" \
    NCCL_VERSION="2.21.5"
LABEL io.cubake.base="cubake/cuda:12.4.1-runtime-debian12" \
      io.cubake.cuda="12.4.1"
CMD ["/bin/bash"]
