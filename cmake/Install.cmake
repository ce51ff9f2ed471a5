# What is installed: the library, the command line, headers, the Python module, the library of
# specs; how find_package and pkg-config find them; and the Debian packages (./dev package).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attnc)
set(spec_dir ${CMAKE_INSTALL_DATADIR}/attnc/specs)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
install(TARGETS attnc)
install(TARGETS attnc_shared EXPORT attnc
  LIBRARY NAMELINK_COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY kernels_spec/ DESTINATION ${spec_dir} FILES_MATCHING PATTERN "*.json")
# Where Debian's Python looks under /usr; elsewhere PYTHONPATH names it.
install(DIRECTORY api/python/attnc DESTINATION lib/python3/dist-packages
  PATTERN __pycache__ EXCLUDE)
install(FILES README.md CHANGELOG.md LICENSE cmake/package/copyright
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(FILES api/include/attnc_c.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY api/include/attnc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(ATTNC_STATIC)
  install(FILES $<TARGET_FILE:attnc_archive> DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS attnc_static EXPORT attnc INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()

install(EXPORT attnc NAMESPACE attnc:: FILE attncTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/package/attncConfig.cmake.in
  ${PROJECT_BINARY_DIR}/attncConfig.cmake INSTALL_DESTINATION ${package_dir} PATH_VARS spec_dir
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attncConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attncConfig.cmake ${PROJECT_BINARY_DIR}/attncConfigVersion.cmake
  DESTINATION ${package_dir})

# Relative to itself, so that the folder can be moved.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/package/attnc.pc.in ${PROJECT_BINARY_DIR}/attnc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/attnc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(ATTNC_SERVICE)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME service)
  install(TARGETS attncd)
  install(FILES tools/attncd/deploy/attncd.service DESTINATION lib/systemd/system)
  install(FILES tools/attncd/deploy/Containerfile tools/attncd/deploy/nginx.conf cmake/package/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/attncd)
endif()

if(PROJECT_IS_TOP_LEVEL)
  include(cmake/Debian.cmake)
endif()
