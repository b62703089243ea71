import { timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
import {
  type CreateSignUpLinkRequest,
  type ListSignUpLinksRequest,
  SignUpLinkState,
  SignUpService,
} from "../../gen/core/signup/v2/signup_service_pb.ts"
import { at, pagination } from "../../kernel/answer.ts"
import { pageOf } from "../../kernel/page.ts"
import { type Cx, search } from "../../store/index.ts"
import { createSignUpLink, revokeSignUpLink } from "./link.ts"
import { type SignUpLinkRow, signUpLinks } from "./view.ts"

export const v2 = share<Cx>()(SignUpService, {
  createSignUpLink: (req, cx) => create(cx, req),
  listSignUpLinks: (req, cx) => list(cx, req),
  revokeSignUpLink: async (req, cx) => ({
    revocationDate: at((await revokeSignUpLink(cx, req.id)).changed),
  }),
})

async function create(cx: Cx, req: CreateSignUpLinkRequest) {
  const { organizationId: orgId, useLimit, expirationDate, allowedDomains: domains } = req
  const expires = expirationDate ? timestampMs(expirationDate) : 0
  const id = cx.ids.next()
  const terms = { orgId, useLimit, expires, domains }
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
  allowedDomains: row.domains.split(" ").filter((domain) => domain !== ""),
  creationDate: at(row.created),
})

function stateOf({ revoked, uses, use_limit, expires }: SignUpLinkRow, now: number) {
  if (revoked === 1) return SignUpLinkState.REVOKED
  if (uses >= use_limit) return SignUpLinkState.USED_UP
  return now < expires ? SignUpLinkState.ACTIVE : SignUpLinkState.EXPIRED
}
