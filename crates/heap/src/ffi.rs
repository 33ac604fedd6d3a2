// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `lib/heap/fovea-heap.h`.

use std::ffi::{c_char, c_int, c_uint, c_void};

#[repr(C)]
pub struct Heap {
    _private: [u8; 0],
}

#[repr(C)]
pub struct Buffer {
    _private: [u8; 0],
}

extern "C" {
    pub fn fovea_heap_open(path: *const c_char) -> *mut Heap;
    pub fn fovea_heap_close(heap: *mut Heap);
    pub fn fovea_buffer_alloc(heap: *mut Heap, size_bytes: u64) -> *mut Buffer;
    pub fn fovea_buffer_import(fd: c_int) -> *mut Buffer;
    pub fn fovea_buffer_hold(buffer: *mut Buffer) -> *mut Buffer;
    pub fn fovea_buffer_free(buffer: *mut Buffer);
    pub fn fovea_buffer_fd(buffer: *const Buffer) -> c_int;
    pub fn fovea_buffer_size(buffer: *mut Buffer) -> u64;
    pub fn fovea_buffer_map(buffer: *mut Buffer) -> *mut c_void;
    pub fn fovea_buffer_unmap(buffer: *mut Buffer);
    pub fn fovea_buffer_trim(buffer: *mut Buffer) -> c_int;
    pub fn fovea_buffer_begin(buffer: *mut Buffer, access: c_uint) -> c_int;
    pub fn fovea_buffer_end(buffer: *mut Buffer, access: c_uint) -> c_int;
    pub fn fovea_buffer_resize(buffer: *mut Buffer, size_bytes: u64, flags: c_uint) -> c_int;
}
