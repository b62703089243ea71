import type { MessageInitShape } from "@bufbuild/protobuf"
import {
  type Application,
  ApplicationSorting,
  ApplicationState,
  OIDCApplicationType,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type ListApplicationsRequestSchema,
  type ListApplicationsResponse,
} from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  type ListColumn,
  type ListQuery,
  paginationOf,
  StateBadge,
  Time,
  toPage,
} from "../list/index.ts"
import { Link, t } from "../shell/index.ts"

type ApplicationFilter = {
  readonly projectId?: string
  readonly organizationId?: string
  readonly state?: ApplicationState
}

const sortColumns = {
  name: ApplicationSorting.APPLICATION_SORT_BY_NAME,
  created: ApplicationSorting.APPLICATION_SORT_BY_CREATION_DATE,
} as const

/** The list source for applications of a project or organization, or in a state. */
export const applicationSource = (filter: ApplicationFilter) => ({
  method: ApplicationService.method.listApplications,
  toRequest: (query: ListQuery): MessageInitShape<typeof ListApplicationsRequestSchema> => ({
    pagination: paginationOf(query),
    sortingColumn: query.by === "created" ? sortColumns.created : sortColumns.name,
    filters: toFilters(filter, query),
  }),
  find: ({ applications, pagination }: ListApplicationsResponse) =>
    toPage(applications, pagination),
})

function toFilters({ projectId, organizationId, state }: ApplicationFilter, { text }: ListQuery) {
  const named = { name: text, method: TextFilterMethod.CONTAINS_IGNORE_CASE }
  const project = { case: "projectIdFilter", value: { projectId: projectId ?? "" } } as const
  const others = { case: "internalFilter", value: false } as const
  const org = { case: "organizationIdFilter", value: { id: organizationId ?? "" } } as const
  return [
    ...(projectId ? [{ filter: project }] : []),
    // The console's own application is found only in its project.
    ...(organizationId ? [{ filter: org }, { filter: others }] : []),
    ...(text ? [{ filter: { case: "nameFilter", value: named } as const }] : []),
    ...(state ? [{ filter: { case: "stateFilter", value: state } as const }] : []),
  ]
}

export const applicationColumns = (): readonly ListColumn<Application>[] => [
  {
    label: t("field.name"),
    sort: "name",
    cell: ({ applicationId, name }) => (
      <Link className="row-link" to="/applications/$applicationId" params={{ applicationId }}>
        {name}
      </Link>
    ),
  },
  { label: t("field.kind"), cell: (application) => t(`kind.${kindOf(application)}`) },
  { label: t("field.state"), cell: (application) => <StateBadge isOn={isActive(application)} /> },
  {
    label: t("field.created"),
    sort: "created",
    cell: ({ creationDate }) => <Time at={creationDate} />,
  },
]

export const isActive = (application: Application) =>
  application.state !== ApplicationState.INACTIVE

export type ApplicationKind = "web" | "native" | "user_agent" | "api" | "saml"

export function kindOf({ configuration }: Application): ApplicationKind {
  if (configuration.case === "apiConfiguration") return "api"
  if (configuration.case === "samlConfiguration") return "saml"
  switch (configuration.value?.applicationType) {
    case OIDCApplicationType.OIDC_APP_TYPE_NATIVE:
      return "native"
    case OIDCApplicationType.OIDC_APP_TYPE_USER_AGENT:
      return "user_agent"
    default:
      return "web"
  }
}
