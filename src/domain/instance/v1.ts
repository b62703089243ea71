import { bindHandlers } from "../../api/method.ts"
import {
  AdminService,
  type ListInstanceDomainsRequest,
} from "../../gen/core/admin/v1/admin_service_pb.ts"
import { AuthService } from "../../gen/core/auth/v1/auth_service_pb.ts"
import {
  DomainFieldName,
  type DomainSearchQuery,
  State,
} from "../../gen/core/instance/v1/instance_pb.ts"
import { ManagementService } from "../../gen/core/management/v1/management_service_pb.ts"
import { SystemService } from "../../gen/core/system/v1/system_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { version } from "../../kernel/version.ts"
import { selectMasked } from "../../protocol/api/mask.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { findInstance, requireInstance } from "./commands.ts"
import {
  type DomainFilter,
  type DomainSort,
  domainsOf,
  type InstanceDomain,
  searchDomains,
} from "./domain.ts"
import { findInstanceByDomain } from "./host.ts"
import { parseDomain } from "./name.ts"
import { setSecurity } from "./setting-change.ts"

export const admin = bindHandlers<Cx>()(AdminService, {
  healthz: () => ({}),
  getMyInstance: (_, cx) => ({ instance: toInstance(cx) }),
  listInstanceDomains: (req, cx) => listDomains(cx, req),
  getSecurityPolicy: (_, cx) => ({ policy: toSecurity(cx) }),
  setSecurityPolicy: async (req, cx) => {
    const { enableIframeEmbedding, allowedOrigins, enableImpersonation } = req
    const settings = { enableIframeEmbedding, allowedOrigins, enableImpersonation }
    await setSecurity(cx, cx.instance, selectMasked(req, settings))
    return { details: toDetails(findInstance(cx)) }
  },
})

export const management = bindHandlers<Cx>()(ManagementService, {
  healthz: () => ({}),
  getIAM: (_, cx) => ownIds(cx),
  getOIDCInformation: (_, cx) => {
    const { publicUrl: issuer } = requireInstance(cx)
    return { issuer, discoveryEndpoint: `${issuer}/.well-known/openid-configuration` }
  },
})

export const auth = bindHandlers<Cx>()(AuthService, { healthz: () => ({}) })

export const system = bindHandlers<Cx>()(SystemService, {
  healthz: () => ({}),
  existsDomain: ({ domain }, cx) => ({
    exists: findInstanceByDomain(cx.store, parseDomain("domain", domain)) !== undefined,
  }),
})

function ownIds(cx: Cx) {
  const { defaultOrgId, projectId } = requireInstance(cx)
  return { globalOrgId: defaultOrgId, defaultOrgId, iamProjectId: projectId }
}

function toInstance(cx: Cx) {
  const found = findInstance(cx)
  return {
    id: found.id,
    details: toDetails(found),
    state: State.RUNNING,
    name: found.name,
    version,
    domains: domainsOf(cx, found.created).map((domain) => toDomain(cx, domain)),
  }
}

function toSecurity(cx: Cx) {
  const found = findInstance(cx)
  const { allowedOrigins, ...security } = found.security
  return { ...security, allowedOrigins: [...allowedOrigins], details: toDetails(found) }
}

function listDomains(cx: Cx, req: ListInstanceDomainsRequest) {
  const found = searchDomains(cx, {
    of: "instance",
    page: parsePage(req.query),
    sort: valueOfEnum(domainSorts, req.sortingColumn),
    filters: req.queries.map(filterOf),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
    },
    sortingColumn: req.sortingColumn,
    result: found.rows.map((domain) => toDomain(cx, domain)),
  }
}

const domainSorts: Readonly<Record<DomainFieldName, DomainSort>> = {
  [DomainFieldName.UNSPECIFIED]: "domain",
  [DomainFieldName.DOMAIN]: "domain",
  [DomainFieldName.PRIMARY]: "primary",
  [DomainFieldName.GENERATED]: "generated",
  [DomainFieldName.CREATION_DATE]: "created",
}

function filterOf({ query }: DomainSearchQuery): DomainFilter {
  if (query.case === "domainQuery") return { text: query.value.domain, method: query.value.method }
  if (query.case === "generatedQuery") return { generated: query.value.generated }
  if (query.case === "primaryQuery") return { primary: query.value.primary }
  throw filterMissingError()
}

const toDomain = (cx: Cx, { domain, primary, generated }: InstanceDomain) => ({
  details: toDetails(findInstance(cx)),
  domain,
  primary,
  generated,
})
