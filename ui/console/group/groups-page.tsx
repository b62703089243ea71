import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import { FieldName } from "../../../src/gen/core/group/v2/group_pb.ts"
import { GroupService } from "../../../src/gen/core/group/v2/group_service_pb.ts"
import { Clip, Collection, type ListQuery, paginationOf, toPage } from "../list/index.ts"
import { Copyable, call, Link, t, useOrganization } from "../shell/index.ts"
import { groupForm } from "./group-form.tsx"

/** The groups of an organization. */
export function GroupsPage() {
  const { id: organizationId, name } = useOrganization()
  return (
    <Collection
      page={{ owner: name }}
      family="groups"
      method={GroupService.method.listGroups}
      toRequest={(query) => ({
        pagination: paginationOf(query),
        sortingColumn: FieldName.NAME,
        filters: toFilters(organizationId, query),
      })}
      find={({ groups, pagination }) => toPage(groups, pagination)}
      columns={[
        {
          label: t("field.name"),
          sort: "name",
          cell: (group) => (
            <Link to="/groups/$groupId" params={{ groupId: group.id }}>
              {group.name}
            </Link>
          ),
        },
        {
          label: t("field.description"),
          cell: ({ description }) => <Clip text={description} />,
        },
        {
          label: t("groups.id"),
          cell: ({ id }) => <Copyable value={id} description={t("groups.id")} />,
        },
      ]}
      keyOf={({ id }) => id}
      nameOf={(group) => group.name}
      needs={{
        create: GroupService.method.createGroup,
        edit: GroupService.method.updateGroup,
        remove: GroupService.method.deleteGroup,
      }}
      form={(group) => groupForm(organizationId, group)}
      remove={({ id }) => call(GroupService.method.deleteGroup, { id })}
    />
  )
}

function toFilters(organizationId: string, { text }: ListQuery) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const own = { case: "organizationId", value: { id: organizationId } } as const
  const named = { case: "nameFilter", value: { name: text, method } } as const
  return [{ filter: own }, ...(text ? [{ filter: named }] : [])]
}
