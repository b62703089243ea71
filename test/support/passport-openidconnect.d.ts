// The package has no types of its own. These cover what the tests use.
declare module "passport-openidconnect" {
  type Profile = {
    readonly id: string
    readonly displayName?: string
    readonly emails?: readonly { readonly value: string }[]
  }
  type Verified = (error: Error | null, user?: object) => void
  type Options = Readonly<Record<string, string | readonly string[] | boolean>>
  type Request = { readonly query: Readonly<Record<string, string>>; readonly session: object }
  type Strategy = {
    readonly authenticate: (request: Request, options: object) => void
    redirect: (url: string) => void
    success: (user: object) => void
    fail: (info: unknown) => void
    error: (cause: Error) => void
  }

  const strategy: new (
    options: Options,
    verify: (issuer: string, profile: Profile, done: Verified) => void,
  ) => Strategy

  // biome-ignore lint/style/noDefaultExport: the package has a default export.
  export { strategy as default }
}
