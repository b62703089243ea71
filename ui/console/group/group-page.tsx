import { useNavigate, useParams } from "@tanstack/react-router"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import type { Group } from "../../../src/gen/core/group/v2/group_pb.ts"
import { GroupService } from "../../../src/gen/core/group/v2/group_service_pb.ts"
import { DeleteSection } from "../form/confirm.tsx"
import { DialogForm, EditSection } from "../form/form.tsx"
import { formId } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import { Clip } from "../list/badges.tsx"
import { Collection } from "../list/collection.tsx"
import { found, pageOf } from "../list/listing.tsx"
import { Time } from "../list/time.tsx"
import { call, useRead } from "../shell/call.ts"
import { Copyable, Facts } from "../shell/detail.tsx"
import { Page } from "../shell/frame.tsx"
import { Link } from "../shell/link.tsx"
import { useBelongsTo } from "../shell/organization.tsx"
import { useText } from "../shell/text.ts"
import { PersonPicker } from "../user/person-picker.tsx"
import { GroupFields } from "./group-form.tsx"

const method = TextFilterMethod.CONTAINS_IGNORE_CASE

/** One group: what it is, and who is in it. */
export function GroupPage() {
  const { t } = useText()
  const { groupId: id } = useParams({ from: "/groups/$groupId" })
  const { group } = useRead(GroupService.method.getGroup, { id })
  useBelongsTo(group?.organizationId)
  if (!group) return null
  return (
    <Page title={group.name} crumbs={[{ label: t("nav.groups"), link: { to: "/groups" } }]}>
      <EditSection
        needs={GroupService.method.updateGroup}
        title={t("detail.about")}
        facts={
          <Facts
            rows={[
              [t("field.name"), group.name],
              [t("field.description"), group.description],
              [t("groups.id"), <Copyable key="id" value={id} what={t("groups.id")} />],
              [t("field.created"), <Time key="created" at={group.creationDate} />],
            ]}
          />
        }
        form={(form, close) => <GroupFields {...{ id: form, group, close }} />}
      />
      <Users group={group} />
      <Remove group={group} />
    </Page>
  )
}

type GroupPart = { readonly group: Group }

function Users({ group }: GroupPart) {
  const { t } = useText()
  const { id } = group
  const own = { case: "groupIds" as const, value: { ids: [id] } }
  const named = (name: string) => ({ case: "nameFilter", value: { name, method } }) as const
  return (
    <Collection
      family="group_users"
      method={GroupService.method.listGroupUsers}
      ask={(asked) => ({
        pagination: pageOf(asked),
        filters: [{ filter: own }, ...(asked.text ? [{ filter: named(asked.text) }] : [])],
      })}
      find={({ groupUsers, pagination }) => found(groupUsers, pagination)}
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
      needs={{
        create: GroupService.method.addUsersToGroup,
        remove: GroupService.method.removeUsersFromGroup,
      }}
      form={(_, close) => <AddUser {...{ group, close }} />}
      remove={({ userId }) =>
        call(GroupService.method.removeUsersFromGroup, { id, userIds: [userId] })
      }
    />
  )
}

function AddUser({ group, close }: GroupPart & { readonly close: () => void }) {
  const { t } = useText()
  const { id, organizationId } = group
  const form = useForm({
    id: formId("group_users", "+"),
    initial: { userId: "" },
    save: ({ userId }) => call(GroupService.method.addUsersToGroup, { id, userIds: [userId] }),
    done: close,
  })
  const title = t("group_users.create")
  return (
    <DialogForm
      title={title}
      submit={title}
      form={form}
      disabled={form.values.userId === ""}
      onCancel={close}
    >
      <PersonPicker
        value={form.values.userId}
        onChange={(userId) => form.change({ userId })}
        organizationId={organizationId}
      />
    </DialogForm>
  )
}

function Remove({ group: { id, name } }: GroupPart) {
  const { t } = useText()
  const navigate = useNavigate()
  const act = async () => {
    await call(GroupService.method.deleteGroup, { id })
    await navigate({ to: "/groups", replace: true })
  }
  const consequence = t("groups.remove_text")
  return (
    <DeleteSection
      needs={GroupService.method.deleteGroup}
      {...{ name, consequence, act }}
      title={t("groups.delete")}
    />
  )
}
