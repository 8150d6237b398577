# Ten steps of llama3_debug: against PyTorch's stored losses, and with other kernels of the matrix library.
octet_test(NAME llama3_debug_torch SOURCES ${CMAKE_CURRENT_LIST_DIR}/llama3_debug_torch_test.cpp
                                           ${CMAKE_CURRENT_LIST_DIR}/debug_run.cpp
           USES octet_train RELEASE_ONLY)
octet_test(NAME llama3_debug_fp32_products SOURCES ${CMAKE_CURRENT_LIST_DIR}/llama3_debug_fp32_products_test.cpp
                                                   ${CMAKE_CURRENT_LIST_DIR}/debug_run.cpp
           USES octet_train RELEASE_ONLY)
