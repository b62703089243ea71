import { sha256 } from "@oslojs/crypto/sha2"
import { base64url } from "jose"

/** The S256 challenge of a PKCE verifier (RFC 7636 §4.2), for browsers without WebCrypto. */
export const challengeWithoutWebCrypto = (verifier: string): string =>
  base64url.encode(sha256(new TextEncoder().encode(verifier)))
