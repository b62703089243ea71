import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import { ActivityService } from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { FieldName } from "../../../src/gen/core/group/v2/group_pb.ts"
import { GroupService } from "../../../src/gen/core/group/v2/group_service_pb.ts"
import { HistoryService } from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { SessionService } from "../../../src/gen/core/session/v2/session_service_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { TimestampQueryMethod } from "../../../src/gen/core/v1/time_pb.ts"
import { ConfirmButton } from "../form/index.ts"
import {
  actionColumn,
  Clip,
  FailedSignIns,
  History,
  Metadata,
  paginationOf,
  SectionList,
  SignInOrigin,
  Time,
  toPage,
} from "../list/index.ts"
import { Messages } from "../message/messages.tsx"
import {
  call,
  IfPermitted,
  Link,
  LinkButton,
  PagePart,
  PermittedLink,
  Section,
  t,
} from "../shell/index.ts"
import { SignInMethods } from "./sign-in-methods.tsx"
import type { UserPart } from "./user.ts"

const { listGroups, getGroup } = GroupService.method
const { listUserMetadata, setUserMetadata, deleteUserMetadata } = UserService.method

/** Groups, applications, messages, sessions and history of a user. */
export function Activity({ user }: UserPart) {
  const { userId, type } = user
  return (
    <>
      <IfPermitted needs={HistoryService.method.getPermissionReason}>
        <div className="row">
          <LinkButton to="/users/$userId/why" params={{ userId }}>
            {t("why.link")}
          </LinkButton>
        </div>
      </IfPermitted>
      <UserGroups user={user} />
      {type.case === "human" && (
        <>
          <UserApplications user={user} />
          <PagePart>
            <SignInMethods user={user} />
          </PagePart>
          <UserSessions user={user} />
          <FailedSignIns userId={userId} />
          <UserMessages user={user} />
        </>
      )}
      <Metadata
        method={listUserMetadata}
        toRequest={(query) => ({ ...query, userId })}
        find={(answer) => answer}
        needs={{ set: setUserMetadata, remove: deleteUserMetadata }}
        set={(metadata) => call(setUserMetadata, { userId, metadata })}
        remove={(keys) => call(deleteUserMetadata, { userId, keys })}
      />
      <History of={{ case: "userId", value: userId }} />
    </>
  )
}

function UserApplications({ user: { userId } }: UserPart) {
  return (
    <SectionList
      name="applications"
      title={t("uses.title")}
      none={t("uses.empty")}
      unsearched
      method={ActivityService.method.listApplicationUses}
      toRequest={({ offset, limit }) => ({ userId, pagination: { offset, limit } })}
      find={({ applicationUses, pagination }) => toPage(applicationUses, pagination)}
      columns={[
        {
          label: t("search.application"),
          cell: ({ applicationId, applicationName }) => (
            <Link to="/applications/$applicationId" params={{ applicationId }}>
              {applicationName}
            </Link>
          ),
        },
        { label: t("uses.last"), cell: ({ lastUsed }) => <Time at={lastUsed} /> },
      ]}
      keyOf={({ applicationId }) => applicationId}
    />
  )
}

/** Messages to the user, to pass on codes if no provider is configured. */
function UserMessages({ user: { userId } }: UserPart) {
  return (
    <Messages
      name="messages"
      filter={{ userId }}
      empty={<p className="quiet section-lead">{t("messages.none_to")}</p>}
      frame={(list) => <Section title={t("messages.title")}>{list}</Section>}
    />
  )
}

function UserGroups({ user: { userId } }: UserPart) {
  const theirs = { case: "userId" as const, value: { id: userId } }
  return (
    <SectionList
      name="groups"
      title={t("groups.title")}
      none={t("groups.of_nobody")}
      unsearched
      method={listGroups}
      toRequest={(query) => ({
        pagination: paginationOf(query),
        sortingColumn: FieldName.NAME,
        filters: [{ filter: theirs }],
      })}
      find={({ groups, pagination }) => toPage(groups, pagination)}
      columns={[
        {
          label: t("field.name"),
          cell: ({ id: groupId, name }) => (
            <PermittedLink
              needs={getGroup}
              name={name}
              to={{ to: "/groups/$groupId", params: { groupId } }}
            />
          ),
        },
        { label: t("field.description"), cell: ({ description }) => <Clip text={description} /> },
      ]}
      keyOf={({ id }) => id}
    />
  )
}

/** Active sessions only. */
function UserSessions({ user: { userId } }: UserPart) {
  const [expirationDate] = useState(() => timestampFromMs(Date.now()))
  const method = TimestampQueryMethod.GREATER
  const queries = [
    { query: { case: "userIdQuery", value: { id: userId } } as const },
    { query: { case: "expirationDateQuery", value: { expirationDate, method } } as const },
  ]
  const end = (sessionId: string) => call(SessionService.method.deleteSession, { sessionId })
  return (
    <SectionList
      name="sessions"
      title={t("sessions.title")}
      none={t("sessions.empty")}
      unsearched
      method={SessionService.method.listSessions}
      toRequest={({ offset, limit }) => ({ query: { offset, limit }, queries })}
      find={({ sessions, details }) => toPage(sessions, details)}
      columns={[
        {
          label: t("sessions.where"),
          cell: ({ userAgent }) => <SignInOrigin userAgent={userAgent} />,
        },
        { label: t("sessions.since"), cell: ({ creationDate }) => <Time at={creationDate} /> },
        {
          label: t("sessions.checked"),
          cell: ({ factors }) => <Time at={factors?.user?.verifiedAt} />,
        },
        { label: t("field.expires"), cell: ({ expirationDate: at }) => <Time at={at} /> },
        actionColumn(({ id }: { readonly id: string }) => (
          <ConfirmButton
            small
            needs={SessionService.method.deleteSession}
            label={t("sessions.end")}
            subject={t("sessions.one")}
            consequence={t("sessions.end_text")}
            act={() => end(id)}
          />
        )),
      ]}
      keyOf={({ id }) => id}
    />
  )
}
