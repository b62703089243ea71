import { messageProviders, providerSecret } from "./model.ts"

export { activateProvider, activeProvider, addProvider, providersOf } from "./commands.ts"
export { type Channel, channels, messageProviders, type Provider, type Providers } from "./model.ts"
export { deliver, type Message } from "./send.ts"
export { type ActiveTestResult, testActiveProvider } from "./test.ts"

/** The registration of this module. */
export const module = {
  aggregates: [messageProviders, providerSecret],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
