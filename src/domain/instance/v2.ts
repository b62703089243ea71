import { bindHandlers } from "../../api/method.ts"
import {
  type DomainFilter as AskedDomain,
  type CustomDomainFilter,
  DomainFieldName,
  FieldName,
  State,
  TrustedDomainFieldName,
} from "../../gen/core/instance/v2/instance_pb.ts"
import {
  InstanceService,
  type ListCustomDomainsRequest,
  type ListInstancesRequest,
  type ListTrustedDomainsRequest,
} from "../../gen/core/instance/v2/instance_service_pb.ts"
import { SettingsService } from "../../gen/core/settings/v2/settings_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { version } from "../../kernel/version.ts"
import { selectMasked } from "../../protocol/api/mask.ts"
import {
  filterMissingError,
  toDetails,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { findInstance, renameInstance } from "./commands.ts"
import {
  type DomainFilter,
  type DomainSort,
  domainsOf,
  type InstanceDomain,
  searchDomains,
} from "./domain.ts"
import { addDomain, addTrustedDomain, removeDomain, removeTrustedDomain } from "./domain-change.ts"
import { type InstanceFilter, type InstanceSort, searchInstances } from "./host.ts"
import { setSecurity } from "./setting-change.ts"

export const v2 = bindHandlers<Cx>()(InstanceService, {
  getInstance: (_, cx) => ({ instance: toInstance(cx) }),
  updateInstance: async ({ instanceName }, cx) => {
    const { changed } = await renameInstance(cx, cx.instance, instanceName)
    return { changeDate: toTimestamp(changed) }
  },
  listInstances: (req, cx) => listInstances(cx, req),
  addCustomDomain: async ({ customDomain: domain }, cx) =>
    toCreation(await addDomain(cx, cx.instance, { domain, generated: false })),
  removeCustomDomain: async (req, cx) => {
    const previousVersion = findInstance(cx).version
    return toDeletion(previousVersion, await removeDomain(cx, cx.instance, req.customDomain))
  },
  listCustomDomains: (req, cx) => listCustomDomains(cx, req),
  addTrustedDomain: async (req, cx) =>
    toCreation(await addTrustedDomain(cx, cx.instance, req.trustedDomain)),
  removeTrustedDomain: async (req, cx) => {
    const previousVersion = findInstance(cx).version
    return toDeletion(
      previousVersion,
      await removeTrustedDomain(cx, cx.instance, req.trustedDomain),
    )
  },
  listTrustedDomains: (req, cx) => listTrustedDomains(cx, req),
})

const toCreation = ({ changed }: Receipt) => ({ creationDate: toTimestamp(changed) })

/** Without a date if nothing was deleted. */
const toDeletion = (previousVersion: number, { version, changed }: Receipt) =>
  version === previousVersion ? {} : { deletionDate: toTimestamp(changed) }

function listInstances(cx: Cx, req: ListInstancesRequest) {
  const found = searchInstances(cx, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(instanceSorts, req.sortingColumn),
    filters: req.filters.map(({ filter }): InstanceFilter => {
      if (filter.case === "inIdsFilter") return { ids: filter.value.ids }
      if (filter.case === "customDomainsFilter") return { domains: filter.value.domains }
      throw filterMissingError()
    }),
  })
  const instances = found.rows.map((instance) => toInstance({ ...cx, instance }))
  return { instances, pagination: toPagination(found) }
}

function listCustomDomains(cx: Cx, req: ListCustomDomainsRequest) {
  const found = searchDomains(cx, {
    of: "instance",
    page: parsePage(req.pagination),
    sort: valueOfEnum(domainSorts, req.sortingColumn),
    filters: req.filters.map(domainFilterOf),
  })
  const domains = found.rows.map((each) => toDomain(cx, each))
  return { domains, pagination: toPagination(found) }
}

function domainFilterOf({ filter }: CustomDomainFilter): DomainFilter {
  if (filter.case === "domainFilter") return textOf(filter.value)
  if (filter.case === "generatedFilter") return { generated: filter.value }
  if (filter.case === "primaryFilter") return { primary: filter.value }
  throw filterMissingError()
}

const textOf = ({ domain, method }: AskedDomain): DomainFilter => ({ text: domain, method })

function listTrustedDomains(cx: Cx, req: ListTrustedDomainsRequest) {
  const found = searchDomains(cx, {
    of: "trusted",
    page: parsePage(req.pagination),
    sort: valueOfEnum(trustedSorts, req.sortingColumn),
    filters: req.filters.map(({ filter }) => {
      if (filter.case === "domainFilter") return textOf(filter.value)
      throw filterMissingError()
    }),
  })
  const trustedDomain = found.rows.map(({ domain, created }) => ({
    instanceId: cx.instance,
    creationDate: toTimestamp(created),
    domain,
  }))
  return { trustedDomain, pagination: toPagination(found) }
}

const instanceSorts: Readonly<Record<number, InstanceSort>> = {
  [FieldName.UNSPECIFIED]: "created",
  [FieldName.ID]: "id",
  [FieldName.NAME]: "name",
  [FieldName.CREATION_DATE]: "created",
}

const domainSorts: Readonly<Record<number, DomainSort>> = {
  [DomainFieldName.UNSPECIFIED]: "domain",
  [DomainFieldName.DOMAIN]: "domain",
  [DomainFieldName.PRIMARY]: "primary",
  [DomainFieldName.GENERATED]: "generated",
  [DomainFieldName.CREATION_DATE]: "created",
}

const trustedSorts: Readonly<Record<number, DomainSort>> = {
  [TrustedDomainFieldName.UNSPECIFIED]: "domain",
  [TrustedDomainFieldName.DOMAIN]: "domain",
  [TrustedDomainFieldName.CREATION_DATE]: "created",
}

export const settings = bindHandlers<Cx>()(SettingsService, {
  getSecuritySettings: (_, cx) => {
    const found = findInstance(cx)
    const { enableIframeEmbedding: enabled, allowedOrigins, enableImpersonation } = found.security
    const embeddedIframe = { enabled, allowedOrigins: [...allowedOrigins] }
    return { details: toDetails(found), settings: { embeddedIframe, enableImpersonation } }
  },
  setSecuritySettings: async (req, cx) => {
    const { embeddedIframe: iframe, enableImpersonation } = req
    const settings = {
      enableIframeEmbedding: iframe?.enabled ?? false,
      allowedOrigins: iframe?.allowedOrigins ?? [],
      enableImpersonation,
    }
    const names = {
      enableIframeEmbedding: ["embeddedIframe"],
      allowedOrigins: ["embeddedIframe"],
    }
    await setSecurity(cx, cx.instance, selectMasked(req, settings, names))
    return { details: toDetails(findInstance(cx)) }
  },
})

function toInstance(cx: Cx) {
  const { id, name, created, changed } = findInstance(cx)
  return {
    id,
    name,
    version,
    state: State.RUNNING,
    creationDate: toTimestamp(created),
    changeDate: toTimestamp(changed),
    customDomains: domainsOf(cx, created).map((each) => toDomain(cx, each)),
  }
}

const toDomain = (cx: Cx, { domain, primary, generated, created }: InstanceDomain) => ({
  instanceId: cx.instance,
  creationDate: toTimestamp(created),
  domain,
  primary,
  generated,
})
