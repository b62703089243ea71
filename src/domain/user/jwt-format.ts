import type { DecisionContext } from "../../store/index.ts"
import { noKeyError } from "../instance/index.ts"
import { findActiveKeyId, parseJwtType } from "../key/index.ts"
import type { JwtFormat } from "../user-model/index.ts"

/** Rejects an algorithm that no active web key supports. */
export function validateJwtFormat(cx: DecisionContext, { jwtAlgorithm }: JwtFormat): void {
  if (jwtAlgorithm === undefined || findActiveKeyId(cx, jwtAlgorithm) !== undefined) return
  throw noKeyError(jwtAlgorithm)
}

export type JwtFormatInput = {
  readonly accessTokenJwtType?: string | undefined
  readonly accessTokenSigningAlgorithm?: string | undefined
}

/** The format in a request; empty and omitted fields are undefined. */
export function parseJwtFormat(message: JwtFormatInput): JwtFormat {
  const { accessTokenJwtType: type, accessTokenSigningAlgorithm: jwtAlgorithm } = message
  const jwtType = type ? parseJwtType(type) : undefined
  return { ...(jwtType && { jwtType }), ...(jwtAlgorithm && { jwtAlgorithm }) }
}

/** The format after an update: omitted fields are kept, and an empty field restores the default. */
export const mergeJwtFormat = (present: JwtFormat, message: JwtFormatInput): JwtFormat =>
  parseJwtFormat({
    accessTokenJwtType: message.accessTokenJwtType ?? present.jwtType,
    accessTokenSigningAlgorithm: message.accessTokenSigningAlgorithm ?? present.jwtAlgorithm,
  })

/** The format as message fields. */
export const toJwtFormatFields = ({ jwtType, jwtAlgorithm }: JwtFormat) => ({
  accessTokenJwtType: jwtType ?? "at+jwt",
  accessTokenSigningAlgorithm: jwtAlgorithm ?? "",
})
