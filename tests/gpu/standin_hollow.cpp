// A library that loads and has no function that anybody wants.
extern "C" int octet_standin_hollow() {
  return 0;
}
