import { bindHandlers } from "../../api/method.ts"
import {
  DomainFieldName,
  type DomainSearchFilter,
  DomainValidationType,
} from "../../gen/core/org/v2/org_pb.ts"
import {
  type GenerateOrganizationDomainValidationRequest,
  type ListOrganizationDomainsRequest,
  OrganizationService,
} from "../../gen/core/org/v2/organization_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { challengeDomain, normalizeDomain, removeDomain } from "./domain.ts"
import { findDomain, org, type ProofType } from "./model.ts"
import { proofLocationOf } from "./proof.ts"
import { type DomainRow, orgDomains } from "./view.ts"

/** Domain operations that affect only the organization; the others are in org-cascade. */
export const v2domain = bindHandlers<Cx>()(OrganizationService, {
  listOrganizationDomains: (req, cx) => list(cx, req),
  deleteOrganizationDomain: ({ organizationId, domain }, cx) => remove(cx, organizationId, domain),
  generateOrganizationDomainValidation: (req, cx) => challenge(cx, req),
})

async function remove(cx: Cx, orgId: string, domain: string) {
  const before = findDomain(cx.store.state(cx, org, orgId), normalizeDomain(domain))
  const { changed } = await removeDomain(cx, orgId, domain)
  return before ? { deletionDate: toTimestamp(changed) } : {}
}

async function challenge(cx: Cx, req: GenerateOrganizationDomainValidationRequest) {
  const { organizationId, domain } = req
  const type = valueOfEnum(proofs, req.type)
  const challengeResult = await challengeDomain(cx, organizationId, { domain, type })
  return {
    token: challengeResult.token,
    url: proofLocationOf(challengeResult.domain, { type, token: challengeResult.token }),
  }
}

const proofs: Readonly<Record<number, ProofType>> = {
  [DomainValidationType.HTTP]: "http",
  [DomainValidationType.DNS]: "dns",
}

/** The domains of one organization, which the caller can access. */
async function list(cx: Cx, req: ListOrganizationDomainsRequest) {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const found = await search<DomainRow>({ ...cx, scope }, orgDomains, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: [{ equals: "org", value: req.organizationId }, ...req.filters.map(filterOf)],
  })
  return { pagination: toPagination(found), domains: found.rows.map(toDomain) }
}

const columns = {
  [DomainFieldName.UNSPECIFIED]: "domain",
  [DomainFieldName.NAME]: "domain",
  [DomainFieldName.CREATION_DATE]: "created",
} as const

/** Domain names are compared without case (RFC 4343), regardless of the method. */
function filterOf({ filter }: DomainSearchFilter): Filter {
  if (filter.case === undefined) throw filterMissingError()
  return textFilter("domain", filter.value.domain, filter.value.method | 1)
}

const toDomain = (row: DomainRow) => ({
  organizationId: row.org,
  domain: row.domain,
  isVerified: row.verified,
  isPrimary: row.is_primary,
  validationType: validations[row.validation],
})

const validations = {
  "": DomainValidationType.UNSPECIFIED,
  http: DomainValidationType.HTTP,
  dns: DomainValidationType.DNS,
} as const
