import type { Decision } from "../../store/index.ts"
import { noKeyError } from "../instance/index.ts"
import { activeOf, parseJwtType } from "../key/index.ts"
import type { JwtFormat } from "../user-model/index.ts"

/** Refuses an algorithm that no active web key signs with. */
export function checkJwtFormat(cx: Decision, { jwtAlgorithm }: JwtFormat): void {
  if (jwtAlgorithm === undefined || activeOf(cx, jwtAlgorithm) !== undefined) return
  throw noKeyError(jwtAlgorithm)
}

export type JwtFormatInput = {
  readonly accessTokenJwtType?: string | undefined
  readonly accessTokenSigningAlgorithm?: string | undefined
}

/** The format that a request states; empty texts, and texts that are left out, state nothing. */
export function jwtFormatOf(message: JwtFormatInput): JwtFormat {
  const { accessTokenJwtType: type, accessTokenSigningAlgorithm: jwtAlgorithm } = message
  const jwtType = type ? parseJwtType(type) : undefined
  return { ...(jwtType && { jwtType }), ...(jwtAlgorithm && { jwtAlgorithm }) }
}

/**
 * The same for a change: what is left out stays as it is, and an empty text restores the default.
 */
export const changedJwtFormat = (present: JwtFormat, message: JwtFormatInput): JwtFormat =>
  jwtFormatOf({
    accessTokenJwtType: message.accessTokenJwtType ?? present.jwtType,
    accessTokenSigningAlgorithm: message.accessTokenSigningAlgorithm ?? present.jwtAlgorithm,
  })

/** The format as a message states it. */
export const jwtFormatFields = ({ jwtType, jwtAlgorithm }: JwtFormat) => ({
  accessTokenJwtType: jwtType ?? "at+jwt",
  accessTokenSigningAlgorithm: jwtAlgorithm ?? "",
})
