import { type User, UserFieldName } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Avatar } from "../../kit/index.ts"
import {
  Clip,
  EmptyList,
  found,
  type ListColumn,
  Listing,
  pageOf,
  StateBadge,
  Time,
  useFilterChips,
} from "../list/index.ts"
import { Link, LinkButton, May, Page, t, useOrganization } from "../shell/index.ts"
import { loginNameOf, nameOf, pictureOf, stateOf } from "./user.ts"
import { filterNames, namedLike, queriesOf } from "./user-query.ts"

const sorts = {
  name: UserFieldName.DISPLAY_NAME,
  created: UserFieldName.CREATION_DATE,
} as const

export function UsersPage() {
  const organization = useOrganization()
  const { chosen, filter } = useFilterChips("show", filterNames, (name) => t(`filter.${name}`))
  const create = (
    <May needs={UserService.method.createUser}>
      <LinkButton to="/users/sign-ups">{t("sign_ups.open")}</LinkButton>
      <LinkButton kind="primary" to="/users/new">
        {t("users.create")}
      </LinkButton>
    </May>
  )
  const own = { case: "organizationIdQuery", value: { organizationId: organization.id } } as const
  return (
    <Page title={t("nav.users")} owner={organization.name} actions={create}>
      <Listing
        caption={t("nav.users")}
        method={UserService.method.listUsers}
        ask={(asked) => ({
          query: pageOf(asked),
          sortingColumn: asked.by === "created" ? sorts.created : sorts.name,
          queries: [
            { query: own },
            ...queriesOf[chosen],
            ...(asked.text ? [namedLike(asked.text)] : []),
          ],
        })}
        find={({ result, details }) => found(result, details)}
        columns={columnsOf()}
        keyOf={(user) => user.userId}
        {...filter}
        empty={<EmptyList family="users" action={create} />}
      />
    </Page>
  )
}

const columnsOf = (): readonly ListColumn<User>[] => [
  {
    label: t("field.name"),
    sort: "name",
    cell: (user) => (
      <span className="row-person">
        <Avatar name={nameOf(user)} picture={pictureOf(user)} />
        <Link className="row-link" to="/users/$userId" params={{ userId: user.userId }}>
          {nameOf(user)}
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
