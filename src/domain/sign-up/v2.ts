import { timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../api/method.ts"
import {
  type CreateSignUpLinkRequest,
  type ListSignUpLinksRequest,
  type ListSignUpRequestsRequest,
  SignUpLinkState,
  SignUpService,
} from "../../gen/core/signup/v2/signup_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { toPagination, toTimestamp } from "../../protocol/api/response.ts"
import { type Cx, search } from "../../store/index.ts"
import { createSignUpLink, revokeSignUpLink } from "./link.ts"
import { approveSignUp, refuseSignUp } from "./request.ts"
import { type SignUpLinkRow, type SignUpRequestRow, signUpLinks, signUpRequests } from "./view.ts"

export const v2 = bindHandlers<Cx>()(SignUpService, {
  createSignUpLink: (req, cx) => createLink(cx, req),
  listSignUpLinks: (req, cx) => listLinks(cx, req),
  revokeSignUpLink: async (req, cx) => ({
    revocationDate: toTimestamp((await revokeSignUpLink(cx, req.id)).changed),
  }),
  listSignUpRequests: (req, cx) => listRequests(cx, req),
  approveSignUpRequest: async (req, cx) => ({
    userId: req.id,
    creationDate: toTimestamp((await approveSignUp(cx, req.id)).changed),
  }),
  refuseSignUpRequest: async (req, cx) => ({
    refusalDate: toTimestamp((await refuseSignUp(cx, req.id)).changed),
  }),
})

async function createLink(cx: Cx, req: CreateSignUpLinkRequest) {
  const { organizationId: orgId, useLimit, expirationDate, allowedDomains: domains } = req
  const expires = expirationDate ? timestampMs(expirationDate) : 0
  const id = cx.ids.next()
  const terms = {
    orgId,
    useLimit,
    expires,
    domains,
    ...(req.requireApproval && { requiresApproval: true }),
  }
  const { url, receipt } = await createSignUpLink(cx, id, terms)
  return { id, url, creationDate: toTimestamp(receipt.created) }
}

async function listLinks(
  cx: Cx,
  { organizationId, pagination: requestedPage }: ListSignUpLinksRequest,
) {
  const result = await search<SignUpLinkRow>(cx, signUpLinks, {
    page: parsePage(requestedPage),
    filters: organizationId === "" ? [] : [{ equals: "org", value: organizationId }],
  })
  const now = cx.clock.now()
  return { pagination: toPagination(result), links: result.rows.map((row) => toLink(row, now)) }
}

const toLink = (row: SignUpLinkRow, now: number) => ({
  id: row.id,
  organizationId: row.org,
  state: toState(row, now),
  useLimit: row.use_limit,
  uses: row.uses,
  ...(row.last_used > 0 && { lastUseDate: toTimestamp(row.last_used) }),
  expirationDate: toTimestamp(row.expires),
  allowedDomains: [...row.domains],
  creationDate: toTimestamp(row.created),
  requireApproval: row.approval,
})

function toState({ revoked, uses, use_limit, expires }: SignUpLinkRow, now: number) {
  if (revoked) return SignUpLinkState.REVOKED
  if (uses >= use_limit) return SignUpLinkState.USED_UP
  return now < expires ? SignUpLinkState.ACTIVE : SignUpLinkState.EXPIRED
}

async function listRequests(
  cx: Cx,
  { organizationId, pagination: requestedPage }: ListSignUpRequestsRequest,
) {
  const result = await search<SignUpRequestRow>(cx, signUpRequests, {
    page: parsePage(requestedPage),
    filters: [
      { compare: "expires", by: ">", value: cx.clock.now() },
      ...(organizationId === "" ? [] : [{ equals: "org", value: organizationId }]),
    ],
  })
  return { pagination: toPagination(result), requests: result.rows.map(toRequest) }
}

const toRequest = (row: SignUpRequestRow) => ({
  id: row.id,
  organizationId: row.org,
  organizationName: row.org_name ?? "",
  email: row.email,
  givenName: row.given_name,
  familyName: row.family_name,
  signUpLinkId: row.link,
  creationDate: toTimestamp(row.created),
  expirationDate: toTimestamp(row.expires),
})
