import { Alert } from "../kit/alert.tsx"
import { Button, ButtonLink } from "../kit/button.tsx"
import { Person } from "../kit/person.tsx"
import { Frame, Heading, type PageProps } from "../login/index.ts"
import type { Say } from "./texts/index.ts"

export type SeededPerson = {
  readonly userId: string
  readonly name: string
  readonly loginName: string
  readonly organization: string
  readonly owns: "instance" | "organization" | undefined
  readonly roles: readonly string[]
}

export type OverviewPageProps = PageProps & {
  readonly say: Say
  readonly csrf: string
  readonly people: readonly SeededPerson[]
  readonly password: string
  /** Whether it signs with keys that everybody has. */
  readonly fixed: boolean
  /** What a program needs to sign people in. */
  readonly client: readonly (readonly [name: "issuer" | "client" | "redirect", value: string])[]
}

/** Where a developer begins: who is there, and what to point a program to. */
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
          <PersonRow key={person.userId} say={say} csrf={csrf} person={person} />
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

type RowProps = Pick<OverviewPageProps, "say" | "csrf"> & { readonly person: SeededPerson }

function PersonRow({ say, csrf, person }: RowProps) {
  const { name, userId } = person
  return (
    <form method="post" action="/dev/sign-in" className="development-person">
      <input type="hidden" name="csrf" value={csrf} />
      <input type="hidden" name="user" value={userId} />
      <div className="stack stack-tight">
        <Person name={name} loginName={person.loginName} />
        <p className="quiet small">{`${person.organization} · ${standing(say, person)}`}</p>
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

function standing(say: Say, { owns, organization, roles }: SeededPerson): string {
  if (owns === "instance") return say("people.owner")
  if (owns === "organization") return say("people.org", { organization })
  return roles.length > 0 ? say("people.roles", { roles: roles.join(", ") }) : say("people.none")
}
