import type { Cx } from "../../store/index.ts"
import { type Status, statuses } from "../../xml/names.ts"
import { formatTime } from "../../xml/read.ts"
import { element, type XmlNode } from "../../xml/write.ts"
import { entityOfInstance } from "../path.ts"

/** SAML Core §1.3.4: a unique ID that is a valid XML name. */
export const newId = (cx: Pick<Cx, "random">): string =>
  `_${Buffer.from(cx.random.bytes(20)).toString("hex")}`

type MessageOptions = {
  readonly destination: string
  /** The ID of the request; absent for an unsolicited response. */
  readonly inResponseTo?: string | undefined
  /** The issuer of the message; by default the entity ID of this server. */
  readonly issuer?: string
}

/** The element of a message with its common attributes (SAML Core §3.2). */
export function buildMessage(
  cx: Cx,
  name: "samlp:Response" | "samlp:LogoutRequest" | "samlp:LogoutResponse",
  { destination, inResponseTo, issuer = entityOfInstance(cx).entityId }: MessageOptions,
  ...children: readonly XmlNode[]
): XmlNode {
  return element(
    name,
    {
      ID: newId(cx),
      Version: "2.0",
      IssueInstant: formatTime(cx.clock.now()),
      Destination: destination,
      InResponseTo: inResponseTo,
    },
    element("saml:Issuer", {}, issuer),
    ...children,
  )
}

/** Statuses that are errors of the requester (SAML Core §3.2.2.2). */
const requesterStatuses: readonly Status[] = [
  "invalidNameIdPolicy",
  "requestUnsupported",
  "unsupportedBinding",
  "invalidAttr",
  "unknownPrincipal",
]

function topLevelStatusOf(status: Status): string {
  // §3.7.3.2: the session has ended here, as requested.
  if (status === "partialLogout") return statuses.success
  return requesterStatuses.includes(status) ? statuses.requester : statuses.responder
}

/** SAML Core §3.2.2: the status, with a message for an error. */
export function buildStatus(status: Status, message = ""): XmlNode {
  const isTop = status === "success" || status === "versionMismatch"
  const code = isTop
    ? element("samlp:StatusCode", { Value: statuses[status] })
    : element(
        "samlp:StatusCode",
        { Value: topLevelStatusOf(status) },
        element("samlp:StatusCode", { Value: statuses[status] }),
      )
  return element(
    "samlp:Status",
    {},
    code,
    message === "" ? undefined : element("samlp:StatusMessage", {}, message),
  )
}
