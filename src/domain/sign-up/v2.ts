import { timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
import {
  type CreateSignUpLinkRequest,
  type ListSignUpLinksRequest,
  type ListSignUpRequestsRequest,
  SignUpLinkState,
  SignUpService,
} from "../../gen/core/signup/v2/signup_service_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, pagination } from "../../protocol/api/answer.ts"
import { type Cx, search } from "../../store/index.ts"
import { createSignUpLink, revokeSignUpLink } from "./link.ts"
import { approveSignUp, refuseSignUp } from "./request.ts"
import { type SignUpLinkRow, type SignUpRequestRow, signUpLinks, signUpRequests } from "./view.ts"

export const v2 = share<Cx>()(SignUpService, {
  createSignUpLink: (req, cx) => create(cx, req),
  listSignUpLinks: (req, cx) => list(cx, req),
  revokeSignUpLink: async (req, cx) => ({
    revocationDate: at((await revokeSignUpLink(cx, req.id)).changed),
  }),
  listSignUpRequests: (req, cx) => listRequests(cx, req),
  approveSignUpRequest: async (req, cx) => ({
    userId: req.id,
    creationDate: at((await approveSignUp(cx, req.id)).changed),
  }),
  refuseSignUpRequest: async (req, cx) => ({
    refusalDate: at((await refuseSignUp(cx, req.id)).changed),
  }),
})

async function create(cx: Cx, req: CreateSignUpLinkRequest) {
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
  return { id, url, creationDate: at(receipt.created) }
}

async function list(cx: Cx, { organizationId, pagination: asked }: ListSignUpLinksRequest) {
  const found = await search<SignUpLinkRow>(cx, signUpLinks, {
    page: pageOf(asked),
    filters: organizationId === "" ? [] : [{ equals: "org", value: organizationId }],
  })
  const now = cx.clock.now()
  return { pagination: pagination(found), links: found.rows.map((row) => toLink(row, now)) }
}

const toLink = (row: SignUpLinkRow, now: number) => ({
  id: row.id,
  organizationId: row.org,
  state: stateOf(row, now),
  useLimit: row.use_limit,
  uses: row.uses,
  ...(row.last_used > 0 && { lastUseDate: at(row.last_used) }),
  expirationDate: at(row.expires),
  allowedDomains: [...row.domains],
  creationDate: at(row.created),
  requireApproval: row.approval,
})

function stateOf({ revoked, uses, use_limit, expires }: SignUpLinkRow, now: number) {
  if (revoked) return SignUpLinkState.REVOKED
  if (uses >= use_limit) return SignUpLinkState.USED_UP
  return now < expires ? SignUpLinkState.ACTIVE : SignUpLinkState.EXPIRED
}

async function listRequests(
  cx: Cx,
  { organizationId, pagination: asked }: ListSignUpRequestsRequest,
) {
  const found = await search<SignUpRequestRow>(cx, signUpRequests, {
    page: pageOf(asked),
    filters: [
      { compare: "expires", by: ">", value: cx.clock.now() },
      ...(organizationId === "" ? [] : [{ equals: "org", value: organizationId }]),
    ],
  })
  return { pagination: pagination(found), requests: found.rows.map(toRequest) }
}

const toRequest = (row: SignUpRequestRow) => ({
  id: row.id,
  organizationId: row.org,
  organizationName: row.org_name ?? "",
  email: row.email,
  givenName: row.given_name,
  familyName: row.family_name,
  signUpLinkId: row.link,
  creationDate: at(row.created),
  expirationDate: at(row.expires),
})
