import { listSamlParticipants } from "../../domain/grant/index.ts"
import { loadBrowserContext } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import type { LogoutService } from "../../xml/metadata.ts"
import type { Status } from "../../xml/names.ts"
import {
  childrenOf,
  type Element,
  findAttribute,
  findChild,
  parseTime,
  requireText,
} from "../../xml/read.ts"
import { readingOptions, rejectedError } from "../error.ts"
import { entityOfInstance } from "../path.ts"
import type { VerifiedMessage } from "../request/receive.ts"

const minuteMs = 60_000

/** SAML Core §3.2.1: requires a current logout message for this server. */
export function requireCurrent(
  cx: Cx,
  root: Element,
  { slo }: { readonly slo: string } = entityOfInstance(cx),
): void {
  const destination = findAttribute(root, "Destination")
  if (destination !== undefined && destination !== slo) {
    throw rejectedError(`Destination must be ${slo}`)
  }
  const now = cx.clock.now()
  const issued = parseTime(findAttribute(root, "IssueInstant")) ?? 0
  const notOnOrAfter = parseTime(findAttribute(root, "NotOnOrAfter")) ?? Infinity
  if (Math.abs(issued - now) > 60 * minuteMs || notOnOrAfter + 5 * minuteMs <= now) {
    throw rejectedError("the message is too old; sign out again")
  }
}

/** The sessions that a request names, or the status if it is rejected. */
export type NamedSessions =
  | { readonly name: string; readonly indexes: readonly string[] }
  | { readonly status: Status }

/** SAML Core §3.7.1: the NameID and the session indexes of a request. */
export function parseNamedSessions({ found, root, isSigned }: VerifiedMessage): NamedSessions {
  const indexes = childrenOf(root, "samlp", "SessionIndex").map((each) =>
    requireText(each, readingOptions),
  )
  // SAML Profiles §4.4.3.1. An application without a signing key is identified by the session
  // index, which only it received.
  if (!isSigned && (found.provider.signingKeys.length > 0 || indexes.length === 0)) {
    return { status: "requestDenied" }
  }
  const nameId = findChild(root, ["saml", "NameID"], readingOptions)
  if (!nameId) return { status: "requestUnsupported" }
  return { name: requireText(nameId, readingOptions), indexes }
}

type SessionQuery = {
  readonly appId: string
  readonly name: string
  readonly indexes: readonly string[]
}

/**
 * The sessions that an application received assertions for, by the NameID that it received. Without
 * a session index, all those of this browser.
 */
export async function findSessions(
  cx: Cx,
  { appId, name, indexes }: SessionQuery,
  request: Request,
): Promise<readonly string[]> {
  const sessionIndexes =
    indexes.length > 0 ? indexes.slice(0, indexesMax) : await sessionsInBrowser(cx, request)
  const sessions = sessionIndexes.filter((id) =>
    listSamlParticipants(cx, id).some((each) => each.appId === appId && each.nameId === name),
  )
  return [...new Set(sessions)]
}

type LogoutCapable = { readonly provider: { readonly logout: readonly LogoutService[] } }

const indexesMax = 20

const sessionsInBrowser = async (cx: Cx, request: Request): Promise<readonly string[]> =>
  (await loadBrowserContext(cx, request)).browser.sessions

/** Where an application receives logout messages; preferably with HTTP-Redirect. */
export function logoutServiceOf({ provider }: LogoutCapable): LogoutService | undefined {
  const { logout } = provider
  return logout.find(({ binding }) => binding === "redirect") ?? logout[0]
}
