// apiserver/answer.h - sending answers: Status, objects and lists in the form that was asked for.
#pragma once

#include <string>

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// A document as it is (Status, reviews, discovery), as JSON or YAML.
void send_value(Exchange& exchange, int code, const api::Value& value);
void send_error(Exchange& exchange, const StatusError& error);
void send_text(Exchange& exchange, int code, std::string text);
/// JSON bytes that need no change.
void send_json(Exchange& exchange, int code, Bytes json,
               const std::string& content_type = "application/json");

/// A long text that others may share.
void send_rope(Exchange& exchange, int code, net::RopePtr rope, const std::string& content_type);

/// An object in stored form, to the version and form of the exchange. `bytes`, when not null, is
/// its stored text and is sent unchanged when nothing has to be done to it.
void send_object(Context& context, Exchange& exchange, int code, const api::Value& stored,
                 const Bytes& bytes);

/// An object already in the version of the exchange; a table or metadata when asked for.
api::Value shaped(const Exchange& exchange, api::Value object, Time now);

/// {kind, apiVersion, metadata} of PartialObjectMetadata.
api::Value to_metadata(const api::Value& object, const std::string& meta_version);

/// A value as text in a form.
std::string encoded(const Form& form, const api::Value& value);
/// Content-Type of a form.
std::string content_type(const Form& form);

}  // namespace muster::apiserver
