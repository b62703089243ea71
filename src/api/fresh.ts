import type { DescMethod, Message } from "@bufbuild/protobuf"
import type { Access as AccessOption } from "../gen/core/options_pb.ts"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { freshSignInSeconds, isFreshSignIn } from "../protocol/freshness.ts"
import { nameOf } from "./method.ts"
import { isChange, type Rank } from "./rank.ts"

/**
 * Whether a rule requires a recent sign-in. Throws, naming the method, if the method only reads or
 * is not about a user.
 */
export function requiresRecentSignIn(method: DescMethod, option: AccessOption): boolean {
  const { fresh, authenticated, resource, id, or } = option
  if (fresh && !isChange(method)) {
    throw new Error(`${nameOf(method)}: fresh is set, but the method changes nothing`)
  }
  const isOfUsers = authenticated !== "" || resource === "user" || id === "@home"
  if (fresh && (!isOfUsers || or)) {
    throw new Error(
      `${nameOf(method)}: fresh requires the resource user or the caller's own account`,
    )
  }
  return fresh
}

/**
 * RFC 9470 §3: throws if the caller's sign-in is too old. Does not apply to programs with a key or
 * token, which never sign in, or to requests with a proof such as the current password or a code
 * sent to the user.
 */
export function requireRecentSignIn(
  { caller, clock }: Pick<Call, "caller" | "clock">,
  rank: Rank | undefined,
  request: Message,
): void {
  if (caller.kind !== "user" || caller.authTime === undefined) return
  if (rank?.isProven(request)) return
  const now = clock.now()
  const required = { mustSignIn: true, since: now - freshSignInSeconds * 1000 }
  if (isFreshSignIn({ localAt: caller.authTime }, required, now)) return
  throw new Fault(
    "unauthenticated",
    "session.sign_in_too_old",
    "this changes how you sign in; sign in again (max_age) and repeat the request within " +
      "15 minutes with the new token",
    { maxAgeSeconds: freshSignInSeconds },
  )
}
