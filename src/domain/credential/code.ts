import { type Call, isAmongCallers } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { parseUrlTemplate } from "../../protocol/user-field.ts"
import type { Cx } from "../../store/index.ts"
import { isKnownHost, requireInstance } from "../instance/index.ts"
import { type CodeFor, codeGenerators } from "../lockout/index.ts"
import type { Channel } from "../message-provider/index.ts"
import { generateCode } from "../policy/index.ts"
import { byUser, type Verifier, verifierFrom } from "../user-model/index.ts"
import {
  isInstanceLink,
  parseTemplatePage,
  type Recipient,
  recipientOf,
  requireTrustedLink,
} from "./url-template.ts"

/**
 * A verification code, sealed for the message that contains it, and optionally returned to the
 * caller.
 */
export type NewCode = {
  readonly plain: string
  readonly sealed: string
  readonly expires: number
  readonly returned: boolean
  /** The link in the message; empty for the default link of this server. */
  readonly urlTemplate: string
  /** Who verifies the address, if the code is returned or the link is set by the caller. */
  readonly verifier?: Verifier
}

type CreateCodeOptions = {
  readonly of: CodeFor
  readonly returned: boolean
  readonly urlTemplate?: string
  /** Where the code is sent; the user's current email address by default. */
  readonly recipient?: Partial<Recipient> & { readonly channel?: Channel }
}

/** Creates a code with the format and lifetime that the instance configures for its kind. */
export function createCode(
  cx: Cx,
  userId: string,
  { of, returned, urlTemplate = "", recipient = {} }: CreateCodeOptions,
): NewCode {
  const { plain, expires } = generateCode(cx, codeGenerators[of])
  const template = parseUrlTemplate(urlTemplate)
  if (template !== "") {
    const stored = recipientOf(cx, userId, recipient.channel)
    const { orgId = stored.orgId } = recipient
    const address = recipient.address || stored.address
    requireTrustedLink(cx, userId, { orgId, address, urlTemplate: template })
  }
  const isUserProof = !returned && (template === "" || isOwnPage(cx, template))
  const verifier = isUserProof ? byUser : verifierFrom(cx)
  return {
    plain,
    sealed: cx.secrets.seal("seal", plain, codeContext(userId, of)),
    expires,
    returned,
    urlTemplate: template,
    ...((returned || template !== "") && { verifier }),
  }
}

/** The context that a sealed code is bound to. */
export const codeContext = (userId: string, of: CodeFor): string => `user/${userId}/${of}_code`

/**
 * The key parameter of this server's link: more than 128 bits derived from the sealed code. The
 * correct code with this key is accepted regardless of how many wrong codes other callers have
 * submitted.
 */
export const linkKeyOf = (
  { secrets }: Pick<Call, "secrets">,
  userId: string,
  { of, sealed }: { readonly of: CodeFor; readonly sealed: string },
): string => secrets.hash(sealed, `${codeContext(userId, of)}/link`).slice(-linkKeyLength)

/** 22 base64url characters are 132 bits. */
const linkKeyLength = 22

/**
 * Rejects codes that users request for their own account if they would be returned to the caller or
 * sent in a link to another site: the user's address is unverified and could belong to someone
 * else. Callers with permission to update users can set any link.
 */
export function requireSafeDelivery(cx: Cx, id: string, { returned, urlTemplate }: Delivery): void {
  if (!isAmongCallers(cx, id)) return
  if (returned) throw returnedError()
  if (urlTemplate === "" || cx.holds?.("user.write") || isInstanceLink(cx, urlTemplate)) return
  throw new Fault(
    "permission_denied",
    "user.url_template_foreign",
    "url_template must lead to a domain of this instance; an administrator can add trusted " +
      "domains",
  )
}

type Delivery = Pick<NewCode, "returned" | "urlTemplate">

/**
 * Whether a link opens a page of the instance itself. A code in any other link reaches the operator
 * of that page, so it doesn't prove that the user read the message. Protocol endpoints are
 * excluded: they redirect to clients and pass on parameters such as `state`.
 */
function isOwnPage(cx: Cx, urlTemplate: string): boolean {
  const url = parseTemplatePage(urlTemplate)
  if (!url?.pathname.startsWith("/ui/") || !isKnownHost(cx, url.hostname)) return false
  const own = new URL(requireInstance(cx).publicUrl)
  return url.hostname === own.hostname ? url.origin === own.origin : url.port === ""
}

/** A code that is returned to the user doesn't prove that the user owns the address. */
const returnedError = () =>
  new Fault(
    "permission_denied",
    "user.verify_own",
    "permission denied: users can't mark their own address as verified or have its code " +
      "returned; send the code to the address instead",
  )
