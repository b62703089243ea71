import type { Config } from "../kernel/config.ts"
import type { Commands } from "./control.ts"
import type { Folder } from "./folder/folder.ts"

/** What the server is started with. The process owns `folder` and began at `started`, in ms. */
export type Start = {
  readonly config: Config
  readonly folder: Folder
  readonly master: Uint8Array
  readonly started: number
  /** Where it serves made-up people to a developer: the address that it does so at. */
  readonly development?: string | undefined
  /** Whether that signs with keys that everybody has. */
  readonly hasFixedKeys?: boolean
  /** What files that describe the server may refer to. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A server that answers. */
export type Running = {
  /** Where it is reached from this machine, with the port it really has. */
  readonly url: string
  /**
   * The one-time link by each address that it may be opened at, the best first; none once there is
   * an owner.
   */
  readonly setupUrls: readonly string[]
  /**
   * Is not ready from now on, asks every client to close its connection, and goes on answering for
   * as long as the configuration says.
   */
  readonly drain: () => Promise<void>
  /** Stops accepting, answers what is in flight, closes the store. */
  readonly stop: () => Promise<void>
  /** What it does for the command line: to begin, to let somebody in, to be examined. */
  readonly control: Commands
}
