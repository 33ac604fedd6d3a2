pub fn read() {}
pub fn write() {}
