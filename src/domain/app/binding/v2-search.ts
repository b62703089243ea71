import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import {
  APIAuthMethodType,
  type ApplicationSchema,
  type ApplicationSearchFilter,
  ApplicationSorting,
  ApplicationState,
  ApplicationType,
} from "../../../gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type ListApplicationsRequest,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import { parsePage } from "../../../kernel/page.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../../protocol/api/response.ts"
import { type Cx, type Filter, search, textFilter } from "../../../store/index.ts"
import { internalFilter, requireInstance } from "../../instance/index.ts"
import { app, isMissing } from "../model.ts"
import { type AppRow, appNotFoundError, apps, getApp } from "../view.ts"
import { toAccess } from "./v2-access.ts"
import { toOidc } from "./v2-oidc.ts"
import { toSaml } from "./v2-saml.ts"

export const v2search = bindHandlers<Cx>()(ApplicationService, {
  getApplication: (req, cx) => ({ application: toApplication(cx, getApp(cx, req.applicationId)) }),
  listApplications: (req, cx) => listApplications(cx, req),
})

async function listApplications(cx: Cx, req: ListApplicationsRequest) {
  const found = await search<AppRow>(cx, apps, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.filters.map((filter) => filterOf(cx, filter)),
  })
  return {
    pagination: toPagination(found),
    applications: found.rows.map((row) => toApplication(cx, row)),
  }
}

const columns = {
  [ApplicationSorting.APPLICATION_SORT_BY_ID]: "id",
  [ApplicationSorting.APPLICATION_SORT_BY_NAME]: "name_folded",
  [ApplicationSorting.APPLICATION_SORT_BY_STATE]: "state",
  [ApplicationSorting.APPLICATION_SORT_BY_CREATION_DATE]: "created",
  [ApplicationSorting.APPLICATION_SORT_BY_CHANGE_DATE]: "changed",
} as const

function filterOf(cx: Cx, { filter }: ApplicationSearchFilter): Filter {
  switch (filter.case) {
    case "projectIdFilter":
      return { equals: "project", value: filter.value.projectId }
    case "nameFilter":
      return textFilter("name", filter.value.name, filter.value.method)
    case "stateFilter":
      return valueOfEnum(stateFilters, filter.value)
    case "typeFilter":
      return valueOfEnum(typeFilters, filter.value)
    case "clientIdFilter":
      return { equals: "client_id", value: filter.value.clientId }
    case "entityIdFilter":
      return { equals: "entity_id", value: filter.value.entityId }
    case "organizationIdFilter":
      return { equals: "org", value: filter.value.id }
    case "internalFilter":
      return internalFilter(cx, "project", filter.value)
    default:
      throw filterMissingError()
  }
}

const stateFilters: Readonly<Record<ApplicationState, Filter>> = {
  [ApplicationState.UNSPECIFIED]: { all: [] },
  [ApplicationState.ACTIVE]: { equals: "state", value: "active" },
  [ApplicationState.INACTIVE]: { equals: "state", value: "inactive" },
  [ApplicationState.REMOVED]: { any: [] },
}

const typeFilters: Readonly<Record<ApplicationType, Filter>> = {
  [ApplicationType.UNSPECIFIED]: { all: [] },
  [ApplicationType.OIDC]: { equals: "kind", value: "oidc" },
  [ApplicationType.API]: { equals: "kind", value: "api" },
  [ApplicationType.SAML]: { equals: "kind", value: "saml" },
}

const toApplication = (cx: Cx, row: AppRow): MessageInitShape<typeof ApplicationSchema> => ({
  applicationId: row.id,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  state: row.state === "active" ? ApplicationState.ACTIVE : ApplicationState.INACTIVE,
  name: row.name,
  projectId: row.project,
  type: types[row.kind],
  configuration: configurationOf(cx, row.id),
  access: toAccess(cx.store.state(cx, app, row.id)),
})

const types = {
  "": ApplicationType.UNSPECIFIED,
  oidc: ApplicationType.OIDC,
  api: ApplicationType.API,
  saml: ApplicationType.SAML,
} as const

function configurationOf(cx: Cx, id: string) {
  const state = cx.store.state(cx, app, id)
  if (isMissing(state) || state.kind === "none") throw appNotFoundError()
  const { clientId } = state
  if (state.kind === "oidc") {
    const value = toOidc(clientId, state.oidc, requireInstance(cx).publicUrl)
    return { case: "oidcConfiguration", value } as const
  }
  if (state.kind === "saml") {
    return { case: "samlConfiguration", value: toSaml(state.saml) } as const
  }
  const authMethodType =
    state.api.authMethod === "basic"
      ? APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC
      : APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT
  const { resources, scopes } = state.api
  const value = {
    clientId,
    authMethodType,
    ...(resources && { resources: { uris: [...resources] } }),
    ...(scopes && { scopes: { scopes: [...scopes] } }),
  }
  return { case: "apiConfiguration", value } as const
}
