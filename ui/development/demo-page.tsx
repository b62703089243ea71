import { Alert } from "../kit/alert.tsx"
import { Button, ButtonLink } from "../kit/button.tsx"
import { Frame, Heading, type PageProps, Snippet } from "../login/index.ts"
import type { DevelopmentTranslate } from "./texts/index.ts"

type DemoClaims = Readonly<Record<string, unknown>>

/** Tokens and claims that the client received. */
export type DemoTokens = {
  readonly claims: DemoClaims
  readonly userinfo: DemoClaims
  readonly idToken: string
  readonly accessToken: string
  readonly refreshToken: string | undefined
}

export type DemoPageProps = PageProps & {
  readonly say: DevelopmentTranslate
  /** Undefined while no user is signed in. */
  readonly tokens: DemoTokens | undefined
  /** CSRF token of the sign-out form. */
  readonly csrf: string
  /** The server's error, if the sign-in failed. */
  readonly failure?: string | undefined
}

/** The demo application of a development instance. */
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
        <Snippet name={say("demo.claims")} text={formatClaims(claims)} open />
        <Snippet name={say("demo.userinfo")} text={formatClaims(userinfo)} />
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

const formatClaims = (claims: DemoClaims) => JSON.stringify(claims, undefined, 2)
