import { fieldError } from "../../kernel/fault.ts"

/** The header `typ` of JWT access tokens: RFC 9068 §2.1, or RFC 7519 §5.1. */
export const accessTokenJwtTypes = ["at+jwt", "JWT"] as const
export type AccessTokenJwtType = (typeof accessTokenJwtTypes)[number]

/** Parses the header `typ` of JWT access tokens. Rejects any other text. */
export function parseJwtType(text: string): AccessTokenJwtType {
  const type = accessTokenJwtTypes.find((each) => each === text)
  if (type) return type
  throw fieldError("token.jwt_type_invalid", "access_token_jwt_type", "must be one of: at+jwt, JWT")
}
