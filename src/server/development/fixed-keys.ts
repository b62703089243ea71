import type { ImportedKey } from "../../domain/key/index.ts"

// These keys are public: they are only for development instances.

const rsa = {
  kty: "RSA",
  n:
    "-rsFnVV45VLVsLFunpr8CkNUxR6WfascsW_dNUzfvqQShq0vlmIr2Gh8DhxmL2Q3AmWXJqc7fgthFYg1X4Ux" +
    "Pw1Zzx6WArigfDiACL3rMO4sOGshqEjKW4O1QjkPq8RCB3U_wRf3SdfQH6i4EpneDrDWW4nS5hS4_S-7QSp2" +
    "SSiGtSZQ3f7vKPYfQAfyOHcVjaZrWmst2bSvxYo832nN13PlvnC-0D1uY1tN4bKMP-QvWECcwtcRHsC27TIY" +
    "BPslc865QZuWOSGJFfcArlhj33L8tjM8vRWEjooWkZXL_Qo3R4EVo7yz-OWkJDNuK6YPOgaNWat4Y3uEQKI8" +
    "4NY0pQ",
  e: "AQAB",
  d:
    "DE1c3lyXpl9E6OFSO8OZYw-GrnbsjC7D8gwHeI2hdM_44-7F2CuDWmzvmVAMNRffsxhoLP2-ze87ZjxDeI2N" +
    "qwa531wkbbtaJ7Ffmg40TTeCdL1pu1rgj7jyQQheHBMKTyXFNdfTl4xYdxUzyVKo_v0iQP-NzFUIw2ayJpjL" +
    "KpYSzHL0KIgE6mWhxRowJCIPiMrk5dLjTxOfcIhmy4W3UdZChhtSjhYTm3kZZ2tkYlhNUnWLjd2JzffMOcvv" +
    "qEHzK5BbNQXiz82IcGFsnYDPRpzwwPMhT-fZaKFM8qAzVp22is3jlm-d6N1sahExW3HwyBjbWRpxdC57fADd" +
    "UNp5QQ",
  p:
    "_n9aGIxe-Fcu0GGbD8JgzwROsiSuYoU5BUKbVt9DuNolbFpDeG0EF7kiNgE06U_aGe75n5mUBoWJjkWjWsJc" +
    "CkDKMkjD2ABBxCdhzSQNPzt3uSWpHxWvZC7wCSsn6kUZRjAUzLgEj2HLH-g9VhRjtZ9D3P6ycGZ4SQo-5ELU" +
    "XYk",
  q:
    "_DX6BzEIlhsKpX3oP2wiqGQlTlhu-JWQMllK-7mKQyLijjBIOgPk6R97nF-dh1lkElNMj4jmdo9Hm2xoskpL" +
    "p6Q7TXI2LQjrmKSN_SOj1RtBNq0dDvyODPlCi3KQ8hXc-nnyu-sM2rQy942D4YWX7kC7ePLbZy-uxhSi_o0E" +
    "0z0",
  dp:
    "UxcXPk6OLzyfry8-5h1LaCt62hS5zra6UCpX9zv7q12lvEOYJbhKDsjGD6XDNa15guAQJfiJaLuuloHL_LTa" +
    "Qgq3OUWik2I6FqXY-5YasRtkUlGmbtywn9_nRMcPSCB5SP4nvFMUQg_mtqsnY3RSvZibGosZjTMXcJlkwTfE" +
    "iCk",
  dq:
    "L4vxddedmcbBTA-fcA1vvzUZ_1oWmZCAna1NwITq9tslwM6DX0SKrBQ-Vm2EIhcNEZNYlJqnb-R1CGz4k9wD" +
    "xTfl4iTM59KNr7od9oH4id1YfvlFyCR-lx2KmQVhI_JRNXs18o1OYBCmpxqrqSFpUgYsEZIfIKXRmhAb5kcp" +
    "iLU",
  qi:
    "51SG8sNUgdpKvVxg2dkxt3XjInzgNWG2ke3BcGZhRayXGEJ0uoQucsQUTW07iGxZFFbUZns97yR6ZtKeJoZ0" +
    "QQDwfP_PgDLFZXqXinjyuH2kM5kf5_C05ynqA6Ue3VUbQxFqLrIA8jtjUWDdXOEonN91Uhj112QWwdXkEveZ" +
    "nIw",
}

const ecdsa = {
  kty: "EC",
  x: "tG8VXy6jLLOM9BAuNikjwrO1XFRq0HJ6Onn-81fnuR4",
  y: "p1sswLOt7lCEufWl2DT_35alsXlR_UL31ovBdzd-V50",
  crv: "P-256",
  d: "yH9UUA4mJTbx1nRW-Yj1YzI1NSLErBbXJOruxe4eFqw",
}

/** The signing keys of a development instance with fixed keys. */
export const fixedKeys: readonly ImportedKey[] = [
  { id: "development-rs256", kind: { kind: "rsa", bits: 2048, hash: 256 }, privateJwk: rsa },
  { id: "development-es256", kind: { kind: "ecdsa", curve: "P-256" }, privateJwk: ecdsa },
]
