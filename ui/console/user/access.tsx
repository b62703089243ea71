import {
  type Authorization,
  State,
} from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { AuthorizationService } from "../../../src/gen/core/authorization/v2/authorization_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import type { Administrator } from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import { InternalPermissionService } from "../../../src/gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { Badges, Clip, paginationOf, SectionList, StateBadge, toPage } from "../list/index.ts"
import { Link, type LinkOptions, t } from "../shell/index.ts"
import type { UserPart } from "./user.ts"

/** Authorizations of a user: projects and roles. */
export function Access({ user: { userId } }: UserPart) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const theirs = { case: "inUserIds" as const, value: { ids: [userId] } }
  const named = (projectName: string) =>
    ({ case: "projectName", value: { name: projectName, method } }) as const
  return (
    <SectionList
      name="access"
      title={t("access.title")}
      none={t("access.empty")}
      method={AuthorizationService.method.listAuthorizations}
      toRequest={(query) => ({
        pagination: paginationOf(query),
        filters: [{ filter: theirs }, ...(query.text ? [{ filter: named(query.text) }] : [])],
      })}
      find={({ authorizations, pagination }) => toPage(authorizations, pagination)}
      columns={[
        { label: t("search.project"), cell: (row) => <ProjectLink row={row} /> },
        {
          label: t("roles.title"),
          cell: ({ roles }) => <Badges words={roles.map(({ key }) => key)} />,
        },
        {
          label: t("access.given_by"),
          cell: ({ organization }) => <Clip text={organization?.name ?? ""} />,
        },
        {
          label: t("field.state"),
          cell: ({ state }) => <StateBadge isOn={state !== State.INACTIVE} />,
        },
      ]}
      keyOf={({ id }) => id}
    />
  )
}

/** Links to the project, or to its grant if another organization assigned the roles. */
function ProjectLink({ row: { project, organization } }: { readonly row: Authorization }) {
  if (!project) return null
  const isOwn = project.organizationId === organization?.id
  return (
    <Link
      to={isOwn ? "/projects/$projectId" : "/granted-projects/$projectId"}
      params={{ projectId: project.id }}
    >
      {project.name}
    </Link>
  )
}

/** Resources that a user administers. */
export function ManagedResources({ user: { userId } }: UserPart) {
  const theirs = { case: "inUserIdsFilter" as const, value: { ids: [userId] } }
  return (
    <SectionList
      name="duties"
      title={t("duties.title")}
      none={t("duties.empty")}
      method={InternalPermissionService.method.listAdministrators}
      toRequest={(query) => ({ pagination: paginationOf(query), filters: [{ filter: theirs }] })}
      find={({ administrators, pagination }) => toPage(administrators, pagination)}
      columns={[
        { label: t("duties.what"), cell: ({ resource }) => <ResourceLink resource={resource} /> },
        { label: t("roles.title"), cell: ({ roles }) => <Badges words={roles} /> },
      ]}
      keyOf={rowKey}
    />
  )
}

const rowKey = ({ resource: { case: kind, value } }: Administrator) =>
  `${kind} ${typeof value === "object" ? value.id : ""}`

type ResourceProps = Pick<Administrator, "resource">

function ResourceLink({ resource }: ResourceProps) {
  const to = resourceLink(resource)
  return to ? <Link {...to.link}>{to.name}</Link> : t("nav.instance")
}

function resourceLink(resource: Administrator["resource"]) {
  const at = (name: string, link: LinkOptions) => ({ name, link })
  switch (resource.case) {
    case "organization": {
      const { id: organizationId, name } = resource.value
      return at(name, { to: "/organizations/$organizationId", params: { organizationId } })
    }
    case "project": {
      const { id: projectId, name } = resource.value
      return at(name, { to: "/projects/$projectId", params: { projectId } })
    }
    case "projectGrant": {
      const { projectId, projectName } = resource.value
      return at(projectName, { to: "/granted-projects/$projectId", params: { projectId } })
    }
    default:
      return undefined
  }
}
