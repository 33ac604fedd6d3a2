# SPDX-License-Identifier: GPL-2.0-only OR MIT
# nix build path:.?dir=packaging/nix; nixosModules.default has `services.fovea.enable`.
{
  description = "Gives memory, disk and network to the app in front";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "riscv64-linux" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.stdenv.mkDerivation {
          pname = "fovea";
          version = "0.1.0";
          src = ../..;
          cargoDeps = pkgs.rustPlatform.importCargoLock { lockFile = ../../Cargo.lock; };
          nativeBuildInputs = [ pkgs.cargo pkgs.rustc pkgs.rustPlatform.cargoSetupHook ];
          # Linked to the C library of the store, and offline.
          makeFlags = [ "STATIC=0" "CARGO_FLAGS=--offline" "PREFIX=${placeholder "out"}" ];
          buildFlags = [ "small" "extra" ];
          installTargets = [ "install-extra" ];
          # Modules are the kernel's packages' own; there is no /usr here.
          preInstall = "export DESTDIR=$NIX_BUILD_TOP/staged";
          postInstall = ''
            mkdir -p $out
            cp -r $DESTDIR$out/. $out/
            unset DESTDIR
          '';
          meta = {
            description = "Gives memory, disk and network to the app in front";
            license = [ nixpkgs.lib.licenses.gpl2Only nixpkgs.lib.licenses.mit ];
            platforms = systems;
            mainProgram = "fovea";
          };
        };
      });
      nixosModules.default = { config, lib, pkgs, ... }: {
        options.services.fovea.enable = lib.mkEnableOption "Fovea, which gives memory, disk and network to the app in front";
        config = lib.mkIf config.services.fovea.enable {
          environment.systemPackages = [ self.packages.${pkgs.system}.default ];
          systemd.packages = [ self.packages.${pkgs.system}.default ];
          services.udev.packages = [ self.packages.${pkgs.system}.default ];
          systemd.services.fovea.wantedBy = [ "multi-user.target" ];
          systemd.user.services.fovea-kills.wantedBy = [ "default.target" ];
        };
      };
    };
}
