import { Alert } from "../kit/alert.tsx"
import { Button, ButtonLink } from "../kit/button.tsx"
import { UserSummary } from "../kit/person.tsx"
import { Frame, Heading, type PageProps } from "../login/index.ts"
import type { DevelopmentTranslate } from "./texts/index.ts"

export type SeededUser = {
  readonly userId: string
  readonly name: string
  readonly loginName: string
  readonly organization: string
  readonly owns: "instance" | "organization" | undefined
  readonly roles: readonly string[]
}

export type OverviewPageProps = PageProps & {
  readonly say: DevelopmentTranslate
  readonly csrf: string
  readonly people: readonly SeededUser[]
  readonly password: string
  /** Whether the instance uses well-known signing keys. */
  readonly fixed: boolean
  /** Client settings for an application. */
  readonly client: readonly (readonly [name: "issuer" | "client" | "redirect", value: string])[]
}

/** Start page for developers: test users and client settings. */
export function OverviewPage(props: OverviewPageProps) {
  const { say, people, csrf, password, client, fixed } = props
  const title = say("overview.title")
  return (
    <Frame {...props} title={title} wide>
      <Heading title={title} />
      <Alert tone="warning">
        <p>{say("overview.lead")}</p>
        {fixed && <p>{say("overview.fixed")}</p>}
      </Alert>
      <section className="stack">
        <h2>{say("people.title")}</h2>
        <p className="quiet">{say("overview.password", { password })}</p>
        {people.map((person) => (
          <UserRow key={person.userId} say={say} csrf={csrf} person={person} />
        ))}
      </section>
      <section className="stack">
        <h2>{say("apps.title")}</h2>
        <p className="quiet">{say("apps.lead")}</p>
        <dl className="development-facts">
          {client.map(([name, value]) => (
            <div key={name}>
              <dt>{say(`apps.${name}`)}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <ButtonLink kind="primary" href="/dev/demo" wide>
        {say("more.demo")}
      </ButtonLink>
      <ButtonLink href="/dev/messages" wide>
        {say("more.messages")}
      </ButtonLink>
      <ButtonLink href="/ui/console/" wide>
        {say("more.console")}
      </ButtonLink>
    </Frame>
  )
}

type UserRowProps = Pick<OverviewPageProps, "say" | "csrf"> & { readonly person: SeededUser }

function UserRow({ say, csrf, person }: UserRowProps) {
  const { name, userId } = person
  return (
    <form method="post" action="/dev/sign-in" className="development-person">
      <input type="hidden" name="csrf" value={csrf} />
      <input type="hidden" name="user" value={userId} />
      <div className="stack stack-tight">
        <UserSummary name={name} loginName={person.loginName} />
        <p className="quiet small">{`${person.organization} · ${describeRoles(say, person)}`}</p>
      </div>
      <div className="row">
        <Button
          small
          type="submit"
          name="to"
          value="demo"
          aria-label={say("people.as_whom", { name })}
        >
          {say("people.as")}
        </Button>
        <Button
          small
          type="submit"
          name="to"
          value="console"
          aria-label={say("people.console_whom", { name })}
        >
          {say("people.console")}
        </Button>
      </div>
    </form>
  )
}

function describeRoles(
  say: DevelopmentTranslate,
  { owns, organization, roles }: SeededUser,
): string {
  if (owns === "instance") return say("people.owner")
  if (owns === "organization") return say("people.org", { organization })
  return roles.length > 0 ? say("people.roles", { roles: roles.join(", ") }) : say("people.none")
}
