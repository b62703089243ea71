import { useParams } from "@tanstack/react-router"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import type { Group } from "../../../src/gen/core/group/v2/group_pb.ts"
import { GroupService } from "../../../src/gen/core/group/v2/group_service_pb.ts"
import { DeleteSection, defineForm, EditSection } from "../form/index.ts"
import { Clip, Collection, History, paginationOf, Time, toPage } from "../list/index.ts"
import { call, copyableFact, Link, Page, t, useRead, useSelectOwner } from "../shell/index.ts"
import { UserPicker } from "../user/user-picker.tsx"
import { groupForm } from "./group-form.tsx"

const { getGroup, updateGroup, deleteGroup } = GroupService.method
const { listGroupUsers, addUsersToGroup, removeUsersFromGroup } = GroupService.method
const method = TextFilterMethod.CONTAINS_IGNORE_CASE

/** A group and its users. */
export function GroupPage() {
  const { groupId: id } = useParams({ from: "/groups/$groupId" })
  const { group } = useRead(getGroup, { id })
  useSelectOwner(group?.organizationId)
  if (!group) return null
  return (
    <Page title={group.name} crumbs={[{ label: t("nav.groups"), link: { to: "/groups" } }]}>
      <EditSection
        needs={updateGroup}
        title={t("detail.about")}
        rows={[
          [t("field.name"), group.name],
          [t("field.description"), group.description],
          copyableFact(t("groups.id"), id),
          [t("field.created"), <Time key="created" at={group.creationDate} />],
        ]}
        form={groupForm(group.organizationId, group)}
      />
      <GroupUsers group={group} />
      <History of={{ case: "groupId", value: id }} />
      <DeleteSection
        family="groups"
        name={group.name}
        by={deleteGroup}
        of={{ id }}
        to={{ to: "/groups" }}
      />
    </Page>
  )
}

function GroupUsers({ group }: { readonly group: Group }) {
  const { id } = group
  const own = { case: "groupIds" as const, value: { ids: [id] } }
  const named = (name: string) => ({ case: "nameFilter", value: { name, method } }) as const
  return (
    <Collection
      family="group_users"
      method={listGroupUsers}
      toRequest={(query) => ({
        pagination: paginationOf(query),
        filters: [{ filter: own }, ...(query.text ? [{ filter: named(query.text) }] : [])],
      })}
      find={({ groupUsers, pagination }) => toPage(groupUsers, pagination)}
      columns={[
        {
          label: t("field.name"),
          cell: ({ userId, displayName }) => (
            <Link to="/users/$userId" params={{ userId }}>
              {displayName}
            </Link>
          ),
        },
        {
          label: t("field.login_name"),
          cell: ({ preferredLoginName }) => <Clip text={preferredLoginName} />,
        },
        { label: t("group_users.since"), cell: ({ creationDate }) => <Time at={creationDate} /> },
      ]}
      keyOf={({ userId }) => userId}
      nameOf={({ displayName }) => displayName}
      needs={{ create: addUsersToGroup, remove: removeUsersFromGroup }}
      form={() => addUserForm(group)}
      remove={({ userId }) => call(removeUsersFromGroup, { id, userIds: [userId] })}
    />
  )
}

const addUserForm = ({ id, organizationId }: Group) =>
  defineForm({
    initial: { userId: "" },
    save: ({ userId }) => call(addUsersToGroup, { id, userIds: [userId] }),
    disabled: ({ userId }) => userId === "",
    fields: ({ values, change }) => (
      <UserPicker
        value={values.userId}
        onChange={(userId) => change({ userId })}
        organizationId={organizationId}
      />
    ),
  })
