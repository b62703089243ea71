import { Alert } from "../kit/alert.tsx"
import { Button, ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps, Snippet } from "../login/index.ts"
import type { Say } from "./texts/index.ts"

type Claims = Readonly<Record<string, unknown>>

/** What the client was told and given. */
export type DemoTokens = {
  readonly claims: Claims
  readonly userinfo: Claims
  readonly idToken: string
  readonly accessToken: string
  readonly refreshToken: string | undefined
}

export type DemoPageProps = PageProps & {
  readonly say: Say
  /** Undefined as long as nobody is signed in. */
  readonly tokens: DemoTokens | undefined
  /** Goes with the form that signs out. */
  readonly csrf: string
  /** What the server answered instead of a sign-in. */
  readonly failure?: string | undefined
}

/** The application that comes with a development instance. */
export function DemoPage(props: DemoPageProps) {
  const { say, tokens, failure } = props
  const title = say("demo.title")
  return (
    <Frame {...props} title={title} wide>
      <Heading title={title} lead={say("demo.lead")} />
      {failure && (
        <Alert tone="danger" title={say("demo.failed")}>
          <p lang="en">{failure}</p>
        </Alert>
      )}
      {tokens ? <SignedIn {...props} tokens={tokens} /> : <SignedOut say={say} />}
      <a href="/dev">{say("back")}</a>
    </Frame>
  )
}

const SignedOut = ({ say }: Pick<DemoPageProps, "say">) => (
  <ButtonLink kind="primary" href="/dev/demo/sign-in" wide>
    {say("demo.sign_in")}
  </ButtonLink>
)

function SignedIn({ say, tokens, csrf }: DemoPageProps & { readonly tokens: DemoTokens }) {
  const { claims, userinfo, idToken, accessToken, refreshToken } = tokens
  return (
    <>
      <Alert tone="done">
        {say("demo.signed_in", { name: String(userinfo.name ?? claims.sub) })}
      </Alert>
      <div>
        <Snippet name={say("demo.claims")} text={textOf(claims)} open />
        <Snippet name={say("demo.userinfo")} text={textOf(userinfo)} />
        <Snippet name={say("demo.id_token")} text={idToken} />
        <Snippet name={say("demo.access_token")} text={accessToken} />
        {refreshToken && <Snippet name={say("demo.refresh_token")} text={refreshToken} />}
      </div>
      <form method="post" action="/dev/demo/sign-out">
        <input type="hidden" name="csrf" value={csrf} />
        <Button kind="primary" type="submit" wide>
          {say("demo.sign_out")}
        </Button>
      </form>
      <ButtonLink href="/dev/demo/sign-in?prompt=select_account" wide>
        {say("demo.again")}
      </ButtonLink>
    </>
  )
}

const textOf = (claims: Claims) => JSON.stringify(claims, undefined, 2)
