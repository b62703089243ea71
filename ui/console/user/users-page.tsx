import { type User, UserFieldName } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Avatar } from "../../kit/index.ts"
import {
  Clip,
  EmptyList,
  type ListColumn,
  Listing,
  paginationOf,
  StateBadge,
  Time,
  toPage,
  useFilterChips,
} from "../list/index.ts"
import { IfPermitted, Link, LinkButton, Page, t, useOrganization } from "../shell/index.ts"
import { displayNameOf, loginNameOf, pictureOf, stateOf } from "./user.ts"
import { filterNames, nameQueries, queriesByFilter } from "./user-query.ts"

const sortColumns = {
  name: UserFieldName.DISPLAY_NAME,
  created: UserFieldName.CREATION_DATE,
} as const

export function UsersPage() {
  const organization = useOrganization()
  const { selected: chosen, filter } = useFilterChips("show", filterNames, (name) =>
    t(`filter.${name}`),
  )
  const create = (
    <IfPermitted needs={UserService.method.createUser}>
      <LinkButton to="/users/sign-ups">{t("sign_ups.open")}</LinkButton>
      <LinkButton kind="primary" to="/users/new">
        {t("users.create")}
      </LinkButton>
    </IfPermitted>
  )
  const own = { case: "organizationIdQuery", value: { organizationId: organization.id } } as const
  return (
    <Page title={t("nav.users")} owner={organization.name} actions={create}>
      <Listing
        caption={t("nav.users")}
        method={UserService.method.listUsers}
        toRequest={(query) => ({
          query: paginationOf(query),
          sortingColumn: query.by === "created" ? sortColumns.created : sortColumns.name,
          queries: [
            { query: own },
            ...queriesByFilter[chosen],
            ...(query.text ? [nameQueries(query.text)] : []),
          ],
        })}
        find={({ result, details }) => toPage(result, details)}
        columns={userColumns()}
        keyOf={(user) => user.userId}
        {...filter}
        empty={<EmptyList family="users" action={create} />}
      />
    </Page>
  )
}

const userColumns = (): readonly ListColumn<User>[] => [
  {
    label: t("field.name"),
    sort: "name",
    cell: (user) => (
      <span className="row-person">
        <Avatar name={displayNameOf(user)} picture={pictureOf(user)} />
        <Link className="row-link" to="/users/$userId" params={{ userId: user.userId }}>
          {displayNameOf(user)}
        </Link>
      </span>
    ),
  },
  { label: t("field.login_name"), cell: (user) => <Clip text={loginNameOf(user)} /> },
  {
    label: t("field.kind"),
    cell: (user) => t(user.type.case === "machine" ? "kind.service" : "kind.person"),
  },
  { label: t("field.state"), cell: (user) => <StateBadge state={stateOf(user)} /> },
  {
    label: t("field.created"),
    sort: "created",
    cell: ({ details }) => <Time at={details?.creationDate} />,
  },
]
