//! A server of comments on loopback.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tiny_http::{Method, Response, Server};

/// A server that keeps the comments of pull request 7 of owner/name.
pub(super) struct GitHub {
    pub(super) url: String,
    comments: Arc<Mutex<Vec<Value>>>,
    server: Arc<Server>,
}

impl GitHub {
    pub(super) fn new(comments: Vec<Value>, is_read_only: bool) -> GitHub {
        let server = Arc::new(Server::http("127.0.0.1:0").unwrap());
        let comments = Arc::new(Mutex::new(comments));
        let github = GitHub {
            url: format!("http://{}", server.server_addr()),
            comments: comments.clone(),
            server: server.clone(),
        };
        std::thread::spawn(move || {
            for mut request in server.incoming_requests() {
                let mut body = String::new();
                request.as_reader().read_to_string(&mut body).unwrap();
                let headers = request.headers().iter().map(ToString::to_string);
                let is_known = headers
                    .into_iter()
                    .any(|it| it == "Authorization: Bearer secret");
                let (code, answer) = match is_known {
                    true => answer(
                        request.method(),
                        request.url(),
                        &body,
                        &mut comments.lock().unwrap(),
                        is_read_only,
                    ),
                    false => (401, Value::Null),
                };
                let response = Response::from_string(answer.to_string()).with_status_code(code);
                // The client may have gone.
                let _ = request.respond(response);
            }
        });
        github
    }

    pub(super) fn bodies(&self) -> Vec<String> {
        let comments = self.comments.lock().unwrap();
        let bodies = comments
            .iter()
            .map(|it| it["body"].as_str().unwrap_or_default());
        bodies.map(str::to_owned).collect()
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

fn answer(
    method: &Method,
    url: &str,
    body: &str,
    comments: &mut Vec<Value>,
    is_read_only: bool,
) -> (u16, Value) {
    const ISSUES: &str = "/repos/owner/name/issues/";
    let what = url.strip_prefix(ISSUES).unwrap_or_default();
    let page = what.strip_prefix("7/comments?per_page=100&page=");
    let id: Option<usize> = what
        .strip_prefix("comments/")
        .and_then(|id| id.parse().ok());
    let body = || serde_json::from_str::<Value>(body).unwrap()["body"].clone();
    match (method, page, id) {
        (Method::Get, Some(page), _) => {
            let page: usize = page.parse().unwrap();
            let on_page = comments.iter().skip(100 * (page - 1)).take(100);
            (200, on_page.cloned().collect())
        }
        (Method::Post | Method::Patch, ..) if is_read_only => {
            (403, json!({"message": "not accessible"}))
        }
        (Method::Post, ..) if what == "7/comments" => {
            comments.push(json!({"id": comments.len(), "body": body()}));
            (201, json!({}))
        }
        (Method::Patch, _, Some(id)) => {
            comments[id]["body"] = body();
            (200, json!({}))
        }
        _ => (404, Value::Null),
    }
}
